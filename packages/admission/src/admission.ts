/**
 * Admission as services use it: submit a signal, get its receipt's answer once the receipt is durable (law 2).
 */
import { type Decision, ENVELOPE_VERSION, type Ids, type RunId, type SignalAnswer } from '@headgate/domain';
import {
  type ActivePolicy,
  type Connection,
  type DeferredRow,
  type Dimensions,
  deferredSignals,
  type Pool,
} from '@headgate/store';
import { type Logger, metrics } from '@headgate/telemetry';
import { admitBatch } from './admit-batch.js';
import { tellDecided } from './answer.js';
import { BatchWriter } from './batch-writer.js';
import { Batcher } from './batcher.js';
import { answersOf, Planner } from './plan.js';
import { promotionOf, type ReadSignal, readPromotionOf } from './promotion.js';
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

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #batcher: Batcher<Submission, SignalAnswer>;
  readonly #planner: Planner;
  readonly #writer: BatchWriter;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#planner = new Planner(options);
    const { pool, logger, policy } = options;
    this.#writer = new BatchWriter({
      pool,
      logger,
      policy,
      planner: this.#planner,
      tell: (decisions, active) => this.#tell(decisions, active),
    });
    this.#batcher = new Batcher({
      maxBatch: MAX_BATCH,
      maxBatchWeight: MAX_BATCH_BYTES,
      maxInFlight: MAX_IN_FLIGHT,
      maxWaiting: MAX_WAITING,
      maxWaitingWeight: MAX_WAITING_BYTES,
      weigh: ({ payload }) => payload?.body.length ?? 0,
      write: (batch) => this.#writer.write(batch),
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
    const plan = await this.#planner.plan(submissions, this.#options.policy());
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
    if (unread.length > 0) {
      const held = { deferredIds: unread, reads: ENVELOPE_VERSION };
      this.#options.logger.warn(
        held,
        'deferred signals of a newer version wait for a process that reads them',
      );
      await pool.use((c) => deferredSignals.postpone(c, unread, POSTPONE_MS));
    }
    if (due.length === 0) return [];
    const results = await this.#writer.write(due.map((row) => promotionOf(row, policy())));
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
    const results = await this.#writer.writeEach(
      reads.map((read) => readPromotionOf(read, this.#options.policy())),
    );
    return results.map((result) =>
      result.status === 'rejected' && result.reason instanceof AlreadyPromotedError
        ? { status: 'fulfilled', value: null }
        : result,
    );
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

const isRealFailure = (result: PromiseSettledResult<SignalAnswer> | undefined): boolean =>
  result?.status === 'rejected' && !(result.reason instanceof AlreadyPromotedError);
