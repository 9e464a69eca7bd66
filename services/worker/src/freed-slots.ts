/**
 * Tells dispatchers that a slot is free, so that what waits for it is dispatched now and not at their next look. Runs that
 * end together are told together. Best effort: a wake-up that is lost costs one period of a scheduler.
 */
import type { ClaimedRun } from '@headgate/store';
import type { HintBus } from '@headgate/transport';

type Freed = Pick<ClaimedRun, 'tenantId' | 'queue'>;

export class FreedSlots {
  readonly #bus: Pick<HintBus, 'wake'>;
  #pairs = new Map<string, Freed>();

  constructor(bus: Pick<HintBus, 'wake'>) {
    this.#bus = bus;
  }

  slotOf({ tenantId, queue }: Freed): void {
    if (this.#pairs.size === 0) setImmediate(() => this.#tell());
    this.#pairs.set(`${tenantId}:${queue}`, { tenantId, queue });
  }

  #tell(): void {
    const pairs = this.#pairs;
    this.#pairs = new Map();
    for (const pair of pairs.values()) void this.#bus.wake('ready', pair);
  }
}
