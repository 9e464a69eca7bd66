/** A bus under test, with everything it reports kept. */
import { type RunId, systemClock, systemIds } from '@headgate/domain';
import { createLogger, type Logger } from '@headgate/telemetry';
import {
  createHintBus,
  type Hint,
  type HintBus,
  type HintBusOptions,
  type HintEvent,
  type ReceivedHint,
} from '../src/index.js';

export const silentLogger: Logger = createLogger('transport-test').child({}, { level: 'silent' });

export interface TestBus {
  readonly bus: HintBus;
  readonly events: HintEvent[];
}

export function aBus(url: string | null, options: Partial<HintBusOptions> = {}): TestBus {
  const events: HintEvent[] = [];
  const bus = createHintBus({
    url,
    prefix: 'test',
    logger: silentLogger,
    clock: systemClock,
    observe: (event) => events.push(event),
    ...options,
  });
  return { bus, events };
}

export const aRunId = (): RunId => systemIds.next('run');

export function aHint(changes: Partial<Hint> = {}): Hint {
  return { queue: 'default', runId: aRunId(), dispatchNo: 1, traceparent: null, ...changes };
}

/** A worker that takes what it is given and never claims. */
export function aTaker(options: { readonly slots?: number } = {}) {
  const received: ReceivedHint[] = [];
  const batchSizes: number[] = [];
  return {
    received,
    batchSizes,
    wanted: () => options.slots ?? 100,
    onHints: async (hints: readonly ReceivedHint[]) => {
      received.push(...hints);
      batchSizes.push(hints.length);
    },
    has: (runId: RunId) => received.some((hint) => hint.runId === runId),
  };
}
