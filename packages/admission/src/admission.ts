/**
 * Admission as services use it: submit a signal, get its receipt's answer once the receipt is durable (law 2).
 */
import type { Decision, Ids, RunId, SignalAnswer, Verdict } from '@headgate/domain';
import {
  type ActivePolicy,
  type Dimensions,
  deferredSignals,
  isDataFault,
  type Pool,
  payloads,
  receipts,
} from '@headgate/store';
import { failPoint, type Logger, metrics, record, testSignal } from '@headgate/telemetry';
import { AlreadyPromotedError, admitBatch, type BatchContext } from './admit-batch.js';
import { Batcher } from './batcher.js';
import { type Prepared, prepare } from './prepare.js';
import { dimensionKeysOf, repositoryKeyOf } from './run-rows.js';
import { reviveDeferred, type Submission } from './submission.js';

/** Rows of one transaction at most. */
const MAX_BATCH = 200;
/** Transactions under way at once: one commits while the next one reads. */
const MAX_IN_FLIGHT = 2;
const MAX_WAITING = 5_000;
/** How long a deferred signal waits that could not be promoted. */
const POSTPONE_MS = 60_000;

export interface AdmissionOptions {
  readonly pool: Pool;
  readonly dimensions: Dimensions;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly policy: () => ActivePolicy;
  /** Runs were admitted and are ready: told after the commit, e.g. to dispatch at once. It must not throw. */
  readonly onAdmitted?: (runs: readonly { runId: RunId; tenantId: number; queue: string }[]) => void;
}

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #batcher: Batcher<Submission, SignalAnswer>;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#batcher = new Batcher({
      maxBatch: MAX_BATCH,
      maxInFlight: MAX_IN_FLIGHT,
      maxWaiting: MAX_WAITING,
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
   * Promotes deferred signals and released latches that are due, through the same path. Returns how many were
   * decided. Several promoters are harmless.
   */
  async promoteDue(limit: number): Promise<number> {
    const due = await this.#options.pool.use((c) => deferredSignals.due(c, limit));
    if (due.length === 0) return 0;
    const results = await this.#write(
      due.map((row): Submission => {
        const kept = reviveDeferred(row.candidate);
        return {
          signal: kept.signal,
          tenant: kept.tenant,
          payload: null,
          work: kept.work,
          directive: kept.directive,
          again: kept.again,
          promotes: { deferredId: row.id, parentReceiptId: row.receiptId },
        };
      }),
    );
    const failed = due.filter((_row, at) => isRealFailure(results[at]));
    if (failed.length > 0) {
      await this.#options.pool.use((c) =>
        deferredSignals.postpone(
          c,
          failed.map((row) => row.id),
          POSTPONE_MS,
        ),
      );
    }
    return results.filter((result) => result.status === 'fulfilled').length;
  }

  /** One transaction for all; on a data fault the batch is halved until the bad one stands alone (SQL rule 9). */
  async #write(submissions: readonly Submission[]): Promise<readonly PromiseSettledResult<SignalAnswer>[]> {
    const active = this.#options.policy();
    try {
      const answers = await this.#commit(submissions, active);
      metrics.intakeBatchSize.record(submissions.length);
      return answers.map((value) => ({ status: 'fulfilled', value }));
    } catch (fault) {
      if (fault instanceof AlreadyPromotedError) return this.#withoutPromoted(submissions, fault);
      if (!isDataFault(fault)) throw fault;
      if (submissions.length > 1) {
        const half = Math.ceil(submissions.length / 2);
        const first = await this.#write(submissions.slice(0, half));
        return [...first, ...(await this.#write(submissions.slice(half)))];
      }
      return this.#refuse(submissions, active, fault);
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
    const { pool, dimensions, ids, onAdmitted } = this.#options;
    const batch = submissions.map((submission) => prepare(submission, active.policy, ids));
    await this.#ensureDimensions(batch, active);
    const context: BatchContext = {
      active,
      dimensions,
      payloads: await Promise.all(
        submissions.map(async ({ payload }) =>
          payload === null
            ? null
            : { mediaType: payload.mediaType, ...(await payloads.encode(payload.body)) },
        ),
      ),
      newDeferredId: () => ids.next('dfr'),
      queueIds: active.policy.queues.map((queue) =>
        dimensions.id({ tenantId: 0, kind: 'queue', key: queue.id }),
      ),
    };
    for (const prepared of batch) {
      record({ type: 'invoke', op: 'intake.answer', key: prepared.candidate.receiptId });
    }
    await failPoint('intake.batch.before');
    let decided: readonly Decision[] = [];
    const decisions = await pool.transaction(
      async (c) => {
        decided = await admitBatch(c, batch, context);
        return decided;
      },
      {
        // COMMIT without an answer: all receipts of the batch stand, or none does.
        readBack: async (c) => {
          const wanted = batch.map((prepared) => prepared.candidate.receiptId);
          return (await receipts.existing(c, wanted)).size === wanted.length ? decided : null;
        },
      },
    );
    await failPoint('intake.batch.committed');
    const answers = decisions.map((decision) => this.#answer(decision));
    const admitted = decisions.flatMap((decision) =>
      decision.writes.flatMap((write) =>
        write.kind === 'admit' && write.status === 'QUEUED'
          ? [
              {
                runId: write.runId,
                tenantId: active.tenantIds.get(decision.candidate.tenant.id) ?? 0,
                queue: decision.candidate.route?.queue ?? 'default',
              },
            ]
          : [],
      ),
    );
    if (admitted.length > 0) onAdmitted?.(admitted);
    return answers;
  }

  async #ensureDimensions(batch: readonly Prepared[], active: ActivePolicy): Promise<void> {
    const keys = batch.flatMap((prepared) => {
      const tenantId = active.tenantIds.get(prepared.candidate.tenant.id);
      return tenantId === undefined ? [] : dimensionKeysOf(prepared, tenantId);
    });
    const repositories = batch.flatMap((prepared) => {
      const tenantId = active.tenantIds.get(prepared.candidate.tenant.id);
      return tenantId === undefined ? [] : (repositoryKeyOf(prepared, tenantId, active.policy) ?? []);
    });
    const queues = active.policy.queues.map((queue) => ({
      tenantId: 0,
      kind: 'queue' as const,
      key: queue.id,
    }));
    await this.#options.dimensions.ensure([...queues, ...keys], repositories);
  }

  #answer(decision: Decision): SignalAnswer {
    const { candidate } = decision;
    metrics.receipts.add(1, { outcome: decision.outcome, reason_code: decision.reasonCode });
    if (decision.outcome === 'accept')
      metrics.admissionAccepted.add(1, { trigger: candidate.signal.trigger });
    else if (decision.outcome !== 'no-work')
      metrics.admissionDenied.add(1, { reason_code: decision.reasonCode });
    record({
      type: 'ok',
      op: 'intake.answer',
      tenant: candidate.tenant.id,
      key: candidate.receiptId,
      result: {
        receiptId: candidate.receiptId,
        reasonCode: decision.reasonCode,
        runId: decision.runId,
        taskId: decision.taskId,
        generation: decision.generation,
        inputVersion: candidate.work?.inputVersion ?? null,
      },
    });
    testSignal('intake.answered', {
      receiptId: candidate.receiptId,
      reasonCode: decision.reasonCode,
      runId: decision.runId,
    });
    return {
      receiptId: candidate.receiptId,
      outcome: decision.outcome,
      reasonCode: decision.reasonCode,
      message: decision.message,
      runId: decision.runId,
      taskId: decision.taskId,
      existing: decision.existing,
      retryAfter: decision.retryAfter,
    };
  }
}

const isRealFailure = (result: PromiseSettledResult<SignalAnswer> | undefined): boolean =>
  result?.status === 'rejected' && !(result.reason instanceof AlreadyPromotedError);

/** The same delivery without anything that could be at fault: it keeps its identity and says why. */
function storable(submission: Submission): Submission {
  const { signal } = submission;
  const verdict: Verdict = {
    outcome: 'reject',
    reasonCode: 'MALFORMED',
    detail: 'The payload holds data that cannot be stored.',
    retryAfter: null,
  };
  const clean = (text: string): string => text.replaceAll('\u0000', '\ufffd').slice(0, 1_000);
  return {
    ...submission,
    payload: null,
    work: null,
    verdict,
    signal: {
      ...signal,
      eventId: clean(signal.eventId),
      type: clean(signal.type),
      hookId: signal.hookId === null ? null : clean(signal.hookId),
      subject: null,
      actor: null,
      repository: null,
      target: null,
      inputVersion: null,
      parentVersions: [],
      data: null,
    },
  };
}
