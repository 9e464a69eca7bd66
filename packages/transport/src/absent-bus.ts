/** The bus of an installation without Redis: every answer is at once, and says so. Workers poll. */
import type { Clock } from '@headgate/domain';
import { ABSENT } from './answer.js';
import type { Consumer, HintBus, HintHealth, HintObserver } from './hint-bus.js';

const ADVICE =
  'Set REDIS_URL to start work in milliseconds; without it workers poll the database each second.';

const nothing = async () => ABSENT;
const idleConsumer: Consumer = {
  pause: () => {},
  resume: () => {},
  slotsChanged: () => {},
  close: async () => ({ clean: true }),
};

export function createAbsentBus(clock: Clock, observe: HintObserver): HintBus {
  const health: HintHealth = {
    state: 'absent',
    reason: ABSENT.message,
    since: clock.now(),
    lastHintAt: null,
    lastPingAt: null,
    lastPingMs: null,
  };
  return {
    async publish(hints) {
      for (const { queue } of hints) observe({ kind: 'publish-failed', queue, count: 1, reason: 'absent' });
      return { published: 0, failed: hints.length };
    },
    consume: () => idleConsumer,
    wake: async () => {},
    onWake: () => () => {},
    health: () => health,
    onHealthChange: () => () => {},
    listHints: nothing,
    removeHint: nothing,
    counts: nothing,
    checkRedis: async () => ({ state: 'absent', advice: ADVICE }),
    flushOwnKeys: nothing,
    close: async () => {},
  };
}
