/**
 * One transaction for a batch, and what becomes of it when it fails (SQL rule 9).
 *
 *   plan ─► admitBatch in a transaction ─► COMMIT ─► told ─► answers
 *     a fault of one signal's data ─► the batch is halved until the bad one stands alone, and gets its own answer
 *     a row that another promoter took ─► the rest again without it
 *     COMMIT without an answer ─► read back by receipt ids: all of the batch's stand, or none does
 *     anything else ─► every signal of the batch is refused with it; nothing was acknowledged
 *
 * Several batches may be under way at once; they meet only in the database, whose locks are named in admit-batch.ts.
 */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import type { Decision, SignalAnswer } from '@headgate/domain';
import {
  type ActivePolicy,
  CommitUnknownError,
  isConnectionFault,
  isDataFault,
  type Pool,
  receipts,
} from '@headgate/store';
import { failPoint, type Logger, metrics } from '@headgate/telemetry';
import { admitBatch } from './admit-batch.js';
import { recordAsked, recordFault, recordSkipped } from './answer.js';
import { answersOf, type Plan, type Planner } from './plan.js';
import { storable } from './storable.js';
import type { Submission } from './submission.js';
import { AlreadyPromotedError } from './write-waiting.js';

export interface BatchWriterOptions {
  readonly pool: Pool;
  readonly logger: Logger;
  readonly planner: Planner;
  readonly policy: () => ActivePolicy;
  /** After each COMMIT. It must not throw. */
  readonly tell: (decisions: readonly Decision[], active: ActivePolicy) => void;
}

type Settled = PromiseSettledResult<SignalAnswer>;

export class BatchWriter {
  readonly #options: BatchWriterOptions;

  constructor(options: BatchWriterOptions) {
    this.#options = options;
  }

  /** One result for each submission, in their order. Rejects with a fault that is no single signal's. */
  async write(submissions: readonly Submission[]): Promise<readonly Settled[]> {
    const active = this.#options.policy();
    try {
      const answers = await this.#commit(submissions, active);
      metrics.intakeBatchSize.record(submissions.length);
      return answers.map((value) => ({ status: 'fulfilled', value }));
    } catch (fault) {
      if (fault instanceof AlreadyPromotedError) return this.#withoutPromoted(submissions, fault);
      if (!isOfOneSignal(fault)) throw fault;
      if (submissions.length === 1) {
        return isDataFault(fault)
          ? this.#refuse(submissions, active, fault)
          : [{ status: 'rejected', reason: fault }];
      }
      const half = Math.ceil(submissions.length / 2);
      const first = await this.writeEach(submissions.slice(0, half));
      return [...first, ...(await this.writeEach(submissions.slice(half)))];
    }
  }

  /** As `write`, and a fault is each signal's own: a half that was committed has answers to give. */
  async writeEach(submissions: readonly Submission[]): Promise<readonly Settled[]> {
    try {
      return await this.write(submissions);
    } catch (reason) {
      return submissions.map(() => ({ status: 'rejected', reason }));
    }
  }

  /** The bad one alone: its receipt says MALFORMED, without the data that could not be stored. */
  async #refuse(
    submissions: readonly Submission[],
    active: ActivePolicy,
    fault: unknown,
  ): Promise<readonly Settled[]> {
    const [submission] = submissions;
    if (submission === undefined) return [];
    this.#options.logger.warn(
      { err: fault, source: submission.signal.source },
      'a signal could not be stored as it came',
    );
    try {
      const answers = await this.#commit([storable(submission)], active);
      return answers.map((value) => ({ status: 'fulfilled', value }));
    } catch (reason) {
      return [{ status: 'rejected', reason }];
    }
  }

  async #withoutPromoted(
    submissions: readonly Submission[],
    fault: AlreadyPromotedError,
  ): Promise<readonly Settled[]> {
    const lost = (submission: Submission): boolean =>
      submission.promotes != null && fault.deferredIds.includes(submission.promotes.deferredId);
    const kept = submissions.filter((submission) => !lost(submission));
    const answers = kept.length === 0 ? [] : [...(await this.write(kept))];
    return submissions.map((submission): Settled => {
      if (lost(submission)) return { status: 'rejected', reason: fault };
      return answers.shift() ?? { status: 'rejected', reason: fault };
    });
  }

  async #commit(submissions: readonly Submission[], active: ActivePolicy): Promise<readonly SignalAnswer[]> {
    const plan = await this.#options.planner.plan(submissions, active);
    recordAsked(plan.batch);
    let decisions: readonly Decision[];
    try {
      await failPoint('intake.batch.before');
      decisions = await this.#transaction(plan);
    } catch (fault) {
      recordFault(plan.batch, fault);
      throw fault;
    }
    await failPoint('intake.batch.committed');
    this.#options.tell(decisions, active);
    // What may start now is begun before its senders are answered.
    if (decisions.some(({ writes }) => writes.some(({ kind }) => kind === 'admit'))) await turnOfTheLoop();
    recordSkipped(plan.batch, decisions);
    return answersOf(plan, decisions);
  }

  #transaction({ batch, context }: Plan): Promise<readonly Decision[]> {
    let decided: readonly Decision[] = [];
    return this.#options.pool.transaction(
      (c) =>
        admitBatch(c, batch, context, (decisions) => {
          decided = decisions;
        }),
      {
        // COMMIT without an answer: all receipts of the batch stand, or none does. `decided` is what the last try
        // wrote, or was about to.
        readBack: async (c) => {
          const wanted = decided.map(({ candidate }) => candidate.receiptId);
          const stands = wanted.length > 0 && (await receipts.existing(c, wanted)).size === wanted.length;
          return stands ? decided : null;
        },
      },
    );
  }
}

/** Refused data, or a mistake of ours that one signal brings out; not a server or a way to it that fails for all. */
const isOfOneSignal = (fault: unknown): boolean => {
  if (isDataFault(fault)) return true;
  if (fault instanceof CommitUnknownError || isConnectionFault(fault)) return false;
  return fault instanceof Error && !('code' in fault);
};
