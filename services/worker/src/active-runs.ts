/**
 * The attempts under way in this worker: one for each slot that is taken.
 *
 * Changed on this thread between awaits only: an attempt is here from the moment its claim is answered until the database
 * has answered for its end (or the right to write it is gone), so what is counted here is never less than the leases held.
 */
import type { RunId, WorkerId } from '@headgate/domain';
import type { ClaimedOrder, LeasedRun } from './hints/claim-desk.js';
import type { HeldLease } from './keeper/held-lease.js';
import type { LeaseKeeper } from './keeper/keeper.js';
import type { Finished } from './run/finisher.js';

export interface ActiveRunsParts {
  readonly slots: number;
  readonly keeper: LeaseKeeper;
  /** Never rejects; null: it was dropped. */
  readonly execute: (order: ClaimedOrder, lease: HeldLease, workerId: WorkerId) => Promise<Finished | null>;
  readonly onSlotFreed: (run: LeasedRun, finished: Finished | null) => void;
}

interface Active {
  readonly runId: RunId;
  readonly lease: HeldLease;
  readonly done: Promise<void>;
}

export class ActiveRuns {
  readonly #parts: ActiveRunsParts;
  /** By lease: a dropped attempt of a run may still be ending when the run comes back. */
  readonly #active = new Map<string, Active>();

  constructor(parts: ActiveRunsParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#active.size;
  }

  get freeSlots(): number {
    return Math.max(0, this.#parts.slots - this.#active.size);
  }

  has(runId: RunId): boolean {
    return [...this.#active.values()].some((active) => active.runId === runId);
  }

  begin(order: ClaimedOrder, askedAtMs: number, workerId: WorkerId): HeldLease {
    const { keeper, execute, onSlotFreed } = this.#parts;
    const { runId, fencingToken, leaseId } = order.run;
    const lease = keeper.hold({ runId, fencingToken, leaseId }, askedAtMs);
    const done = execute(order, lease, workerId).then((finished) => {
      this.#active.delete(leaseId);
      keeper.release(lease);
      onSlotFreed(order.run, finished);
    });
    this.#active.set(leaseId, { runId, lease, done });
    return lease;
  }

  /** What can be given up is given up, in order. */
  handBack(): void {
    for (const { lease } of this.#active.values()) lease.handBack();
  }

  lose(): void {
    for (const { lease } of this.#active.values()) lease.end('lost');
  }

  async allDone(): Promise<void> {
    while (this.#active.size > 0) await Promise.all([...this.#active.values()].map(({ done }) => done));
  }
}
