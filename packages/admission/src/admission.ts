/**
 * Admission as services use it: submit a signal, get its receipt's answer once the receipt is durable (law 2).
 */
import type { Decision, Ids, RunId, SignalAnswer } from '@headgate/domain';
import {
  type ActivePolicy,
  CommitUnknownError,
  type Connection,
  type DeferredRow,
  type Dimensions,
  databaseNow,
  deferredSignals,
  isConnectionFault,
  isDataFault,
  type Pool,
  payloads,
  type RepositoryFileKey,
  receipts,
  repositoryFileKey,
  repositoryFiles,
} from '@headgate/store';
import { failPoint, type Logger, metrics } from '@headgate/telemetry';
import { admitBatch } from './admit-batch.js';
import { answerOf, primaryOf, recordAsked, recordFault, recordSkipped, tellDecided } from './answer.js';
import type { BatchContext } from './batch-context.js';
import { Batcher } from './batcher.js';
import { readContinued } from './continued.js';
import { ForgeNames } from './forge-names.js';
import { type Prepared, prepare } from './prepare.js';
import { promotionOf, type ReadSignal, readPromotionOf } from './promotion.js';
import { withFile } from './repository-config.js';
import { dimensionKeysOf, repositoryKeyOf } from './run-rows.js';
import { storable } from './storable.js';
import { isReadable, type Submission } from './submission.js';
import { AlreadyPromotedError } from './write-waiting.js';

/** Rows of one transaction at most, and bytes of their payloads: Postgres takes a batch as one message. */
const MAX_BATCH = 200;
const MAX_BATCH_BYTES = 32 * 1024 * 1024;
/** Transactions under way at once: one commits while the next one reads. */
const MAX_IN_FLIGHT = 2;
const MAX_WAITING = 5_000;
/** Held in memory while they wait; above it senders are asked to come again. */
const MAX_WAITING_BYTES = 256 * 1024 * 1024;
/** How long a deferred signal waits that could not be promoted. */
const POSTPONE_MS = 60_000;

export interface AdmittedRun {
  readonly runId: RunId;
  readonly tenantId: number;
  readonly queue: string;
}

export interface AdmissionOptions {
  readonly pool: Pool;
  readonly dimensions: Dimensions;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly policy: () => ActivePolicy;
  /** Runs were admitted and are ready: told after the commit, e.g. to dispatch at once. It must not throw. */
  readonly onAdmitted?: (runs: readonly AdmittedRun[]) => void;
}

/** What `within` decided; nobody may be told before the caller's COMMIT. */
export interface Undertaken {
  readonly answers: readonly SignalAnswer[];
  /** To be called once, after the COMMIT. */
  committed(): void;
}

interface Plan {
  readonly batch: readonly Prepared[];
  readonly context: BatchContext;
  /** How many candidates each submission has become, in their order. */
  readonly widths: readonly number[];
}

/** One answer for each submission: of the routes that took it, the one that matters most to its sender. */
function answersOf({ batch, widths }: Plan, decisions: readonly Decision[]): readonly SignalAnswer[] {
  const byReceipt = new Map(decisions.map((decision) => [decision.candidate.receiptId, decision]));
  let at = 0;
  return widths.map((width) => {
    const mine = batch.slice(at, at + width);
    at += width;
    return answerOf(primaryOf(mine.flatMap(({ candidate }) => byReceipt.get(candidate.receiptId) ?? [])));
  });
}

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #batcher: Batcher<Submission, SignalAnswer>;
  readonly #names: ForgeNames;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#names = new ForgeNames(options.pool);
    this.#batcher = new Batcher({
      maxBatch: MAX_BATCH,
      maxBatchWeight: MAX_BATCH_BYTES,
      maxInFlight: MAX_IN_FLIGHT,
      maxWaiting: MAX_WAITING,
      maxWaitingWeight: MAX_WAITING_BYTES,
      weigh: ({ payload }) => payload?.body.length ?? 0,
      write: (batch) => this.#write(batch),
    });
  }

  /**
   * Resolves after the commit that holds the receipt. Rejects with OverloadedError, or with a fault of Postgres:
   * then nothing was acknowledged and the sender should try again.
   */
  async submit(submission: Submission): Promise<SignalAnswer> {
    const startedAt = performance.now();
    const answer = await this.#batcher.submit(submission);
    const labels = { trigger: submission.signal.trigger, outcome: answer.outcome };
    metrics.intakeDuration.record((performance.now() - startedAt) / 1000, labels);
    return answer;
  }

  /** Waits until everything submitted has been answered. */
  idle(): Promise<void> {
    return this.#batcher.idle();
  }

  /**
   * Decides and writes inside a transaction of the caller, which may hold locks that come before a delivery's
   * (SQL rule 8): a schedule's row. A data fault is the caller's: its whole transaction is gone.
   */
  async within(c: Connection, submissions: readonly Submission[]): Promise<Undertaken> {
    const plan = await this.#plan(submissions, this.#options.policy());
    const decisions = await admitBatch(c, plan.batch, plan.context);
    return {
      answers: answersOf(plan, decisions),
      committed: () => this.#tell(decisions, plan.context.active),
    };
  }

  /**
   * Promotes deferred signals and released latches that are due, through the same path. Returns how many were
   * decided. Several promoters are harmless.
   */
  async promoteDue(limit: number): Promise<number> {
    return (await this.promoteOverdue(limit, 0)).length;
  }

  /** As `promoteDue`, only those that have been due for `lateByMs`. Returns what was decided by this call. */
  async promoteOverdue(limit: number, lateByMs: number): Promise<readonly DeferredRow[]> {
    const { pool, policy } = this.#options;
    const all = await pool.use((c) => deferredSignals.due(c, limit, lateByMs));
    const due = all.filter((row) => isReadable(row.candidate));
    const unread = all.filter((row) => !due.includes(row)).map((row) => row.id);
    if (unread.length > 0) await pool.use((c) => deferredSignals.postpone(c, unread, POSTPONE_MS));
    if (due.length === 0) return [];
    const results = await this.#write(due.map((row) => promotionOf(row, policy())));
    const failed = due.filter((_row, at) => isRealFailure(results[at]));
    if (failed.length > 0) {
      const ids = failed.map((row) => row.id);
      this.#options.logger.error({ deferredIds: ids }, 'deferred signals could not be promoted');
      await pool.use((c) => deferredSignals.postpone(c, ids, POSTPONE_MS));
    }
    return due.filter((_row, at) => results[at]?.status === 'fulfilled');
  }

  /**
   * Promotes deferred signals with what was read for them: another envelope, or a verdict. One answer each; null:
   * another promoter was faster. A fault is each row's own, and that row then stands as it did.
   */
  async promoteRead(
    reads: readonly ReadSignal[],
  ): Promise<readonly PromiseSettledResult<SignalAnswer | null>[]> {
    const results = await this.#settled(reads.map((read) => readPromotionOf(read, this.#options.policy())));
    return results.map((result) =>
      result.status === 'rejected' && result.reason instanceof AlreadyPromotedError
        ? { status: 'fulfilled', value: null }
        : result,
    );
  }

  /** One transaction for all; on a fault of one the batch is halved until the bad one stands alone (SQL rule 9). */
  async #write(submissions: readonly Submission[]): Promise<readonly PromiseSettledResult<SignalAnswer>[]> {
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
      const first = await this.#settled(submissions.slice(0, half));
      return [...first, ...(await this.#settled(submissions.slice(half)))];
    }
  }

  /** As `#write`, and a fault is each signal's own: a half that was committed has answers to give. */
  async #settled(submissions: readonly Submission[]): Promise<readonly PromiseSettledResult<SignalAnswer>[]> {
    try {
      return await this.#write(submissions);
    } catch (reason) {
      return submissions.map(() => ({ status: 'rejected', reason }));
    }
  }

  /** The bad one alone: its receipt says MALFORMED, without the data that could not be stored. */
  async #refuse(
    submissions: readonly Submission[],
    active: ActivePolicy,
    fault: unknown,
  ): Promise<readonly PromiseSettledResult<SignalAnswer>[]> {
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
  ): Promise<readonly PromiseSettledResult<SignalAnswer>[]> {
    const lost = (submission: Submission): boolean =>
      submission.promotes != null && fault.deferredIds.includes(submission.promotes.deferredId);
    const kept = submissions.filter((submission) => !lost(submission));
    const answers = kept.length === 0 ? [] : [...(await this.#write(kept))];
    return submissions.map((submission): PromiseSettledResult<SignalAnswer> => {
      if (lost(submission)) return { status: 'rejected', reason: fault };
      return answers.shift() ?? { status: 'rejected', reason: fault };
    });
  }

  async #commit(submissions: readonly Submission[], active: ActivePolicy): Promise<readonly SignalAnswer[]> {
    const plan = await this.#plan(submissions, active);
    const { batch, context } = plan;
    recordAsked(batch);
    let decided: readonly Decision[] = [];
    let decisions: readonly Decision[];
    try {
      await failPoint('intake.batch.before');
      decisions = await this.#options.pool.transaction(
        async (c) => {
          decided = await admitBatch(c, batch, context);
          return decided;
        },
        {
          // COMMIT without an answer: all receipts of the batch stand, or none does. `decided` is what the last try
          // wrote to its end; one that met the rows of an earlier try never got there.
          readBack: async (c) => {
            const wanted = decided.map(({ candidate }) => candidate.receiptId);
            const stands = wanted.length > 0 && (await receipts.existing(c, wanted)).size === wanted.length;
            return stands ? decided : null;
          },
        },
      );
    } catch (fault) {
      recordFault(batch, fault);
      throw fault;
    }
    await failPoint('intake.batch.committed');
    this.#tell(decisions, active);
    recordSkipped(batch, decisions);
    return answersOf(plan, decisions);
  }

  async #plan(submissions: readonly Submission[], active: ActivePolicy): Promise<Plan> {
    const { dimensions, ids } = this.#options;
    const named = await this.#names.follow(submissions, active);
    const continued = await readContinued(this.#options.pool, named, active);
    const routed = named.map((submission) => prepare(submission, active.policy, ids, continued));
    const batch = await this.#withFiles(routed.flat(), active);
    await this.#ensureDimensions(batch, active);
    const payloadsOf = await Promise.all(submissions.map(encoded));
    return {
      batch,
      widths: routed.map((prepared) => prepared.length),
      context: {
        active,
        dimensions,
        payloads: routed.flatMap((prepared, at) =>
          prepared.map((_one, route) => (route === 0 ? (payloadsOf[at] ?? null) : null)),
        ),
        queueIds: active.policy.queues.map((queue) =>
          dimensions.id({ tenantId: 0, kind: 'queue', key: queue.id }),
        ),
      },
    };
  }

  /** Each narrowed by its repository's file, as it was last read. Nobody is asked outside the database. */
  async #withFiles(batch: readonly Prepared[], active: ActivePolicy): Promise<readonly Prepared[]> {
    const keyOf = ({ file, candidate }: Prepared): RepositoryFileKey | null => {
      const tenantId = active.tenantIds.get(candidate.tenant.id);
      return file === null || tenantId === undefined ? null : { ...file, tenantId };
    };
    const keys = batch.flatMap((prepared) => keyOf(prepared) ?? []);
    if (keys.length === 0) return batch;
    const { rows, now } = await this.#options.pool.use(async (c) => ({
      rows: await repositoryFiles.read(c, keys),
      now: await databaseNow(c),
    }));
    return batch.map((prepared) => {
      const key = keyOf(prepared);
      return key === null ? prepared : withFile(prepared, rows.get(repositoryFileKey(key)), now);
    });
  }

  async #ensureDimensions(batch: readonly Prepared[], active: ActivePolicy): Promise<void> {
    const keys = batch.flatMap((prepared) => {
      const tenantId = active.tenantIds.get(prepared.candidate.tenant.id);
      return tenantId === undefined ? [] : dimensionKeysOf(prepared, tenantId);
    });
    const repositories = batch.flatMap((prepared) => {
      const tenantId = active.tenantIds.get(prepared.candidate.tenant.id);
      return tenantId === undefined ? [] : (repositoryKeyOf(prepared, tenantId) ?? []);
    });
    const queues = active.policy.queues.map((queue) => ({
      tenantId: 0,
      kind: 'queue' as const,
      key: queue.id,
    }));
    await this.#options.dimensions.ensure([...queues, ...keys], repositories);
  }

  /** After the commit: history, metrics, and whoever starts work. */
  #tell(decisions: readonly Decision[], active: ActivePolicy): void {
    tellDecided(decisions);
    const admitted = decisions.flatMap((decision) => admittedBy(decision, active));
    if (admitted.length > 0) this.#options.onAdmitted?.(admitted);
  }
}

const admittedBy = ({ candidate, writes }: Decision, active: ActivePolicy): AdmittedRun[] =>
  writes.flatMap((write) =>
    write.kind === 'admit' && write.status === 'QUEUED'
      ? [
          {
            runId: write.runId,
            tenantId: active.tenantIds.get(candidate.tenant.id) ?? 0,
            queue: candidate.route?.queue ?? 'default',
          },
        ]
      : [],
  );

const encoded = async ({ payload }: Submission): Promise<BatchContext['payloads'][number]> =>
  payload === null ? null : { mediaType: payload.mediaType, ...(await payloads.encode(payload.body)) };

/** Refused data, or a mistake of ours that one signal brings out; not a server or a way to it that fails for all. */
const isOfOneSignal = (fault: unknown): boolean => {
  if (isDataFault(fault)) return true;
  if (fault instanceof CommitUnknownError || isConnectionFault(fault)) return false;
  return fault instanceof Error && !('code' in fault);
};

const isRealFailure = (result: PromiseSettledResult<SignalAnswer> | undefined): boolean =>
  result?.status === 'rejected' && !(result.reason instanceof AlreadyPromotedError);
