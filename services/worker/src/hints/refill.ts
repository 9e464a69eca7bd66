/**
 * Fills slots that have become free, and waits for nobody.
 *
 *   a slot is free ─► [one turn at a time] dispatch under the try-lock, as many as are free ─► claim desk
 *                          │ another dispatches just now, or more may start than is filled here
 *                          └─► the schedulers are woken
 *
 * Slots that are being filled are spoken for: no hint is taken for them; and slots that the desk is deciding about are
 * not filled here. A slow source holds the slot of its own run only: a turn ends with its dispatch, and each item is
 * decided by itself; a run that is not started after all (stale, denied, put off) leaves its slot to the next one.
 *
 * Who writes: the dispatch (see dispatch/fill, with its race), then the desk. Nothing depends on it: a turn that fails, or
 * a wake-up that is lost, costs one look of a scheduler. A crash between dispatch and claim leaves dispatched items; they
 * are hinted after 5 s.
 */
import { fill } from '@headgate/dispatch';
import type { RunId } from '@headgate/domain';
import type { ActivePolicy, ClaimedRun, DispatchedRun, Pool } from '@headgate/store';
import { failPoint, type Logger, testSignal } from '@headgate/telemetry';
import type { HintBus } from '@headgate/transport';
import { aboutRun } from '../about-run.js';
import type { Registered } from '../registration.js';

export interface RefillParts {
  readonly pool: Pool;
  readonly bus: Pick<HintBus, 'wake' | 'publish'>;
  readonly logger: Logger;
  readonly policy: () => ActivePolicy;
  /** Null: not registered, or taking nothing more. */
  readonly self: () => Registered | null;
  /** Slots that neither a lease holds nor the desk is deciding about. */
  readonly freeSlots: () => number;
  /** Claims what it can; returns which. */
  readonly decide: (rows: readonly DispatchedRun[]) => Promise<ReadonlySet<RunId>>;
  /** What was spoken for and is not any more may be filled by a hint. */
  readonly onChange: () => void;
}

type Freed = Pick<ClaimedRun, 'tenantId' | 'queue'>;

export class Refill {
  readonly #parts: RefillParts;
  /** Whose slots were freed since the last turn began: what the schedulers are told where it comes to that. */
  #freed = new Map<string, Freed>();
  #mustWake = false;
  /** Slots of the dispatch under way. */
  #filling = 0;
  /** Items of ours at the desk. */
  #undecided = 0;
  #turns: Promise<void> | null = null;

  constructor(parts: RefillParts) {
    this.#parts = parts;
  }

  /** How many of the free slots are being filled here. */
  get spokenFor(): number {
    return this.#filling + this.#undecided;
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
      this.#parts.onChange();
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
    const slots = freeSlots() - this.#filling;
    if (me === null) return true;
    if (slots <= 0) return false;
    this.#filling += slots;
    try {
      const { workerId, queueIds } = me;
      const { items, runs, isMoreLeft } = await fill(pool, { workerId, queueIds, slots, policy: policy() });
      if (items.length > 0) await failPoint('dispatch.committed');
      for (const run of runs) void this.#decide(run, me);
      return isMoreLeft;
    } finally {
      this.#filling -= slots;
    }
  }

  /** Never rejects: what is not claimed here is hinted, or found by whoever polls. */
  async #decide(row: DispatchedRun, me: Registered): Promise<void> {
    const { decide, logger, onChange } = this.#parts;
    let isClaimed = false;
    this.#undecided += 1;
    try {
      isClaimed = (await decide([row])).has(row.runId);
    } catch (fault) {
      aboutRun(logger, row, me).warn({ err: fault }, 'what was dispatched could not be decided');
    }
    this.#undecided -= 1;
    onChange();
    if (!isClaimed) await this.#pass(row, me);
  }

  /** Whatever became of it: others may be able to run it, and its slot is free. */
  async #pass(
    { runId, dispatchNo, tenantId, queueId, traceparent }: DispatchedRun,
    me: Registered,
  ): Promise<void> {
    const queue = me.queues[me.queueIds.indexOf(queueId)];
    if (queue === undefined) return;
    this.slotFreed({ tenantId, queue }, false);
    await this.#parts.bus.publish([{ queue, runId, dispatchNo, traceparent }]);
  }
}
