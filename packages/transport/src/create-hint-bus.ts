import { randomUUID } from 'node:crypto';
import type { Clock } from '@headgate/domain';
import type { Logger } from '@headgate/telemetry';
import { createAbsentBus } from './absent-bus.js';
import { BullBus, type BusTiming } from './bullmq-bus.js';
import { assertRedisUrl } from './connections.js';
import type { HintBus, HintObserver } from './hint-bus.js';
import { DEFAULT_PREFIX, keyPrefixOf } from './names.js';

/** docs: lease timing; a worker starts to poll after 5 s of silence. */
export const DEFAULT_TIMING: BusTiming = { pingEveryMs: 1000, unhealthyAfterMs: 5000, blockMs: 2000 };

export interface HintBusOptions {
  /** `redis://` or `rediss://`; null: there is no Redis, and the bus is `absent` for good. */
  readonly url: string | null;
  /** Key prefix; a hash tag is put around it unless it has one. Default `{headgate}`. */
  readonly prefix?: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Feeds the metrics. It must not throw. */
  readonly observe?: HintObserver;
  readonly timing?: Partial<BusTiming>;
  /** Names this bus among all processes (lock tokens, pings). Default: random. */
  readonly instance?: string;
}

/**
 * Makes the bus. It returns at once and connects by itself: Redis may come later, go, and come back. Throws only
 * for a URL or prefix that cannot be one.
 */
export function createHintBus(options: HintBusOptions): HintBus {
  const observe = options.observe ?? (() => {});
  if (options.url === null) return createAbsentBus(options.clock, observe);
  assertRedisUrl(options.url);
  return new BullBus({
    url: options.url,
    keyPrefix: keyPrefixOf(options.prefix ?? DEFAULT_PREFIX),
    instance: options.instance ?? randomUUID(),
    logger: options.logger,
    clock: options.clock,
    observe,
    timing: { ...DEFAULT_TIMING, ...options.timing },
  });
}
