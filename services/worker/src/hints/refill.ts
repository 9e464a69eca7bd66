/**
 * Fills slots that have become free, and waits for nobody.
 *
 *   a slot is free ─► [one turn at a time] dispatch under the try-lock, as many as are free ─► claim desk
 *                          │ another dispatches just now, or more may start than is filled here
 *                          └─► the schedulers are woken
 *
 * Slots that a turn is about to fill are spoken for: no hint is taken for them; and slots of hints that are being
 * considered are not filled here. Who writes: the dispatch (see dispatch/fill, with its race), then the desk. Nothing
 * depends on it: a turn that fails, or a wake-up that is lost, costs one period of a scheduler. A crash between dispatch and
 * claim leaves dispatched items; they are hinted after 5 s.
 */
import { fill } from '@headgate/dispatch';
import type { RunId } from '@headgate/domain';
import {
  type ActivePolicy,
  type ClaimedRun,
  type DispatchedItem,
  type DispatchedRun,
  dispatchedRuns,
  type Pool,
} from '@headgate/store';
import { failPoint, type Logger, testSignal } from '@headgate/telemetry';
import type { HintBus } from '@headgate/transport';
import type { Registered } from '../registration.js';

export interface RefillParts {
  readonly pool: Pool;
  readonly bus: Pick<HintBus, 'wake' | 'publish'>;
  readonly logger: Logger;
  readonly policy: () => ActivePolicy;
  /** Null: not registered, or taking nothing more. */
  readonly self: () => Registered | null;
  /** Slots that neither a lease nor a hint under consideration holds. */
  readonly freeSlots: () => number;
  /** Claims what it can; returns which. */
  readonly decide: (rows: readonly DispatchedRun[]) => Promise<ReadonlySet<RunId>>;
  /** What a turn left free may be offered elsewhere. */
  readonly onTurned: () => void;
}

type Freed = Pick<ClaimedRun, 'tenantId' | 'queue'>;

export class Refill {
  readonly #parts: RefillParts;
  /** Whose slots were freed since the last turn began: what the schedulers are told where it comes to that. */
  #freed = new Map<string, Freed>();
  #mustWake = false;
  #spokenFor = 0;
  #turns: Promise<void> | null = null;

  constructor(parts: RefillParts) {
    this.#parts = parts;
  }

  /** How many of the free slots a turn is about to fill. */
  get spokenFor(): number {
    return this.#spokenFor;
  }

  /** @param isFollowed a version waited behind the run: only a scheduler promotes it */
  slotFreed({ tenantId, queue }: Freed, isFollowed: boolean): void {
    this.#freed.set(`${tenantId}:${queue}`, { tenantId, queue });
    this.#mustWake ||= isFollowed;
    this.#turns ??= this.#turnWhileFreed();
  }

  /** Settles when no turn is under way. */
  async idle(): Promise<void> {
    await this.#turns;
  }

  async #turnWhileFreed(): Promise<void> {
    // Once this turn of the event loop has ended what ends together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#freed.size > 0) {
      const freed = [...this.#freed.values()];
      let mustWake = this.#mustWake;
      this.#freed = new Map();
      this.#mustWake = false;
      try {
        mustWake = (await this.#turn()) || mustWake;
      } catch (fault) {
        mustWake = true;
        this.#parts.logger.warn({ err: fault }, 'free slots could not be filled; a scheduler will do it');
      }
      this.#parts.onTurned();
      if (!mustWake) continue;
      testSignal('worker.refill.wakes', { pairs: freed });
      await Promise.all(freed.map((pair) => this.#parts.bus.wake('ready', pair)));
    }
    this.#turns = null;
  }

  /** Returns whether a scheduler has to look. */
  async #turn(): Promise<boolean> {
    const { pool, policy, self, freeSlots } = this.#parts;
    const me = self();
    const slots = freeSlots();
    if (me === null) return true;
    if (slots <= 0) return false;
    this.#spokenFor = slots;
    try {
      const { items, isMoreLeft } = await fill(pool, { queueIds: me.queueIds, slots, policy: policy() });
      if (items.length > 0) await this.#claim(items, me);
      return isMoreLeft;
    } finally {
      this.#spokenFor = 0;
    }
  }

  async #claim(items: readonly DispatchedItem[], me: Registered): Promise<void> {
    const { pool, decide, bus } = this.#parts;
    await failPoint('dispatch.committed');
    const rows = await pool.use((c) => dispatchedRuns.named(c, items, me.queueIds));
    const claimed = await decide(rows);
    testSignal('worker.refilled', { dispatched: items.map((item) => item.runId), claimed: claimed.size });
    const hints = items.flatMap(({ runId, dispatchNo, queueId, traceparent }) => {
      const queue = me.queues[me.queueIds.indexOf(queueId)];
      return claimed.has(runId) || queue === undefined ? [] : [{ queue, runId, dispatchNo, traceparent }];
    });
    if (hints.length > 0) await bus.publish(hints);
  }
}
