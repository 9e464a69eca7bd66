/**
 * Hands attempts in, many in one transaction.
 *
 *   submitted ─► [what came while the last batch was written, up to 100] ─► finish ─► finished | lost | refused
 *                        ▲                │ no answer
 *                        └─ after a pause ┘  for as long as the lease is trusted, then `unknown`
 *
 * Who writes: one batch at a time, under the fence of each run (the store halves a batch around a bad row). A slot is
 * held until its answer is there: a worker that let go earlier could hold more leases than slots.
 * Crash points: before COMMIT the attempt was not handed in and the reaper takes it; after it, the end stands and
 * nobody needs to hear it.
 */
import type { Random } from '@headgate/domain';
import { type FinishAnswer, type FinishRequest, finish, type Pool } from '@headgate/store';
import { failPoint, type Logger, testSignal } from '@headgate/telemetry';
import type { HeldLease } from '../keeper/held-lease.js';

export interface FinisherParts {
  readonly pool: Pool;
  readonly random: Random;
  readonly logger: Logger;
  readonly retryMs: number;
}

export type Finished =
  | FinishAnswer
  /** Nobody can say: the lease ran out before the database answered. */
  | { readonly kind: 'unknown' };

interface Submitted {
  readonly request: FinishRequest;
  readonly lease: HeldLease;
  readonly settle: (answer: Finished) => void;
}

const MAX_BATCH = 100;

export class Finisher {
  readonly #parts: FinisherParts;
  #waiting: Submitted[] = [];
  /** Ends the wait before the next turn; null: none is due. */
  #cancelTurn: (() => void) | null = null;
  #isWriting = false;
  #isStopped = false;

  constructor(parts: FinisherParts) {
    this.#parts = parts;
  }

  submit(request: FinishRequest, lease: HeldLease): Promise<Finished> {
    lease.finishing();
    return new Promise((settle) => {
      this.#waiting.push({ request, lease, settle });
      // While a batch waits to be tried again, new ones join it: the database does not answer anyway.
      this.#schedule();
    });
  }

  /** Whoever still waits hears `unknown`: the worker is going and Postgres does not answer. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTurn?.();
    for (const { settle } of this.#waiting.splice(0)) settle({ kind: 'unknown' });
  }

  /** @param afterMs absent: once this turn of the event loop has brought what it brings. */
  #schedule(afterMs?: number): void {
    if (this.#cancelTurn !== null || this.#isWriting) return;
    const turn = (): void => {
      this.#cancelTurn = null;
      void this.#turn();
    };
    if (afterMs === undefined) {
      const immediate = setImmediate(turn);
      this.#cancelTurn = () => clearImmediate(immediate);
    } else {
      const timer = setTimeout(turn, afterMs);
      this.#cancelTurn = () => clearTimeout(timer);
    }
  }

  async #turn(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    const batch = this.#waiting.splice(0, MAX_BATCH);
    const again = batch.length === 0 ? [] : await this.#write(batch);
    this.#isWriting = false;
    if (this.#isStopped) {
      for (const { settle } of again) settle({ kind: 'unknown' });
      return;
    }
    this.#waiting.unshift(...again);
    if (again.length > 0) this.#schedule(this.#parts.retryMs);
    else if (this.#waiting.length > 0) this.#schedule();
  }

  /** Those to be tried again. */
  async #write(batch: readonly Submitted[]): Promise<readonly Submitted[]> {
    try {
      await failPoint('worker.finish.before');
      const { pool, random } = this.#parts;
      const answers = await finish(
        pool,
        batch.map((one) => one.request),
        random,
      );
      await failPoint('worker.finish.committed');
      for (const { request, settle } of batch) {
        const answer: Finished = answers.get(request.fence.runId) ?? { kind: 'lost' };
        testSignal('worker.finished', { runId: request.fence.runId, ...answer });
        settle(answer);
      }
      return [];
    } catch (fault) {
      for (const { lease } of batch) {
        const about = lease.logger ?? this.#parts.logger;
        about.warn({ err: fault, together: batch.length }, 'the attempt could not be handed in yet');
      }
      const again: Submitted[] = [];
      for (const submitted of batch) {
        if (submitted.lease.isGone) submitted.settle({ kind: 'unknown' });
        else again.push(submitted);
      }
      return again;
    }
  }
}
