/**
 * Writes where runs are, many in one statement.
 *
 * A stage is noted at once and written within `collectMs`; what a run passes meanwhile is coalesced (the store leaves
 * an event for each stage passed). `arrive` waits for the write: it stands before what cannot be taken back. `take` gives
 * what is not written yet to the finish, which tells of it in its own transaction: a short attempt writes no stage.
 *
 * Who writes: one batch at a time, under the fence of each run. Lock order: the store's (lease, run). A batch that
 * fails for want of Postgres is kept and tried with the next; a crash leaves runs at an earlier stage, never a later.
 */
import type { LeasedStatus } from '@headgate/domain';
import { enterStages, type Pool, type StageAnswer } from '@headgate/store';
import { type Logger, testSignal } from '@headgate/telemetry';
import type { HeldLease } from '../keeper/held-lease.js';

export interface StageWriterParts {
  readonly pool: Pool;
  readonly logger: Logger;
  readonly collectMs: number;
  readonly retryMs: number;
  /** A run may not go on to its stage: the heartbeat knows why. */
  readonly onHeld: () => void;
}

interface Pending {
  readonly lease: HeldLease;
  readonly to: LeasedStatus;
  readonly actor: string;
  /** Stages since the last write, `to` left out. */
  readonly passed: readonly LeasedStatus[];
  readonly waiters: readonly Waiter[];
}

interface Waiter {
  readonly resolve: (answer: StageAnswer) => void;
  readonly reject: (fault: unknown) => void;
}

export class StageWriter {
  readonly #parts: StageWriterParts;
  readonly #pending = new Map<string, Pending>();
  #timer: NodeJS.Timeout | null = null;
  /** Leases whose stages are being written. */
  #underWay: ReadonlySet<string> = new Set();
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: StageWriterParts) {
    this.#parts = parts;
  }

  /** The run is there now; written soon. */
  enter(lease: HeldLease, to: LeasedStatus, actor: string): void {
    this.#note(lease, to, actor, []);
    this.#schedule(this.#parts.collectMs);
  }

  /**
   * The run is there, in the database too. `held`: the lease stands, and the run may not go there (it is being
   * cancelled). Rejects when Postgres does not answer.
   */
  arrive(lease: HeldLease, to: LeasedStatus, actor: string): Promise<StageAnswer> {
    return new Promise((resolve, reject) => {
      this.#note(lease, to, actor, [{ resolve, reject }]);
      void this.#flush();
    });
  }

  /**
   * What a run has passed and nobody has written, in its order; nobody will write it from here. Waits for a write that
   * is under way: it may be this run's, and the end of the attempt comes after it.
   */
  async take({ fence: { leaseId } }: HeldLease): Promise<readonly LeasedStatus[]> {
    if (this.#underWay.has(leaseId)) await this.#writing;
    const pending = this.#pending.get(leaseId);
    this.#pending.delete(leaseId);
    return pending === undefined ? [] : [...pending.passed, pending.to];
  }

  /** Nothing of it is to be written any more. */
  forget(lease: HeldLease): void {
    const pending = this.#pending.get(lease.fence.leaseId);
    this.#pending.delete(lease.fence.leaseId);
    for (const { resolve } of pending?.waiters ?? []) resolve('lost');
  }

  #note(lease: HeldLease, to: LeasedStatus, actor: string, waiters: readonly Waiter[]): void {
    const { leaseId } = lease.fence;
    const before = this.#pending.get(leaseId);
    const passed = before === undefined ? [] : [...before.passed, before.to].filter((stage) => stage !== to);
    this.#pending.set(leaseId, {
      lease,
      to,
      actor,
      passed,
      waiters: [...(before?.waiters ?? []), ...waiters],
    });
  }

  #schedule(afterMs: number): void {
    this.#timer ??= setTimeout(() => void this.#flush(), afterMs);
  }

  #flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const { lease } of [...this.#pending.values()]) if (lease.isGone) this.forget(lease);
    const batch = [...this.#pending.values()];
    this.#pending.clear();
    if (batch.length === 0) return;
    this.#underWay = new Set(batch.map(({ lease }) => lease.fence.leaseId));
    try {
      const answers = await enterStages(
        this.#parts.pool,
        batch.map(({ lease, to, actor, passed }) => ({ fence: lease.fence, to, actor, passed })),
      );
      testSignal('worker.stages', { runs: batch.map(({ lease, to }) => [lease.fence.runId, to]) });
      for (const { lease, waiters } of batch) {
        const answer = answers.get(lease.fence.runId) ?? 'lost';
        // The keeper, not this batch, says whether a lease is gone: an expired one may yet be renewed by a grace.
        if (answer !== 'moved') this.#parts.onHeld();
        for (const { resolve } of waiters) resolve(answer);
      }
    } catch (fault) {
      for (const { lease, to } of batch) {
        const about = lease.logger ?? this.#parts.logger;
        about.warn({ err: fault, to, together: batch.length }, 'the stage could not be written yet');
      }
      for (const pending of batch) {
        for (const { reject } of pending.waiters) reject(fault);
        this.#keep(pending);
      }
      this.#schedule(this.#parts.retryMs);
    } finally {
      this.#underWay = new Set();
    }
  }

  /** It was not written: it goes with the next batch, in front of what was noted meanwhile. */
  #keep(pending: Pending): void {
    const { leaseId } = pending.lease.fence;
    const newer = this.#pending.get(leaseId);
    const passed = newer === undefined ? pending.passed : [...pending.passed, pending.to, ...newer.passed];
    this.#pending.set(leaseId, { ...(newer ?? { ...pending, waiters: [] }), passed });
  }
}
