/**
 * Finish: result, status, events, item or lease, receipt, in one transaction (INV-ST6), for many runs at once.
 *
 * Who may write: the holder of the fence, under the lease row's lock. The lease need not be current: until the
 * reaper has taken it the work is the holder's to hand in (SQL rule 5). Lock order: lease, run, deferred_signal.
 *  - finish against reaper: whoever locks the lease row first wins; the other finds no row and writes nothing.
 *  - finish against cancel: the run's status is read under its lock. CANCEL_REQUESTED ends CANCELLED, with the
 *    attempt's evidence kept; a terminal run refuses.
 *  - one bad row of a batch: the caller halves the batch on a data fault (SQL rule 9).
 * Crash before COMMIT: nothing. After COMMIT, before the worker hears: it asks again, finds no lease, and takes
 * `lost` for an answer; the run's end stands.
 */
import {
  type AttemptId,
  decideRetry,
  type FinishResult,
  finishPath,
  isCancelling,
  isTerminal,
  type Random,
  type ReasonCode,
  type RetryCounters,
  type RunId,
  type RunStatus,
} from '@headgate/domain';
import { record } from '@headgate/telemetry';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import type { Fence } from '../fence.js';
import { type AttemptEnd, attempts } from '../tables/attempts.js';
import { leases } from '../tables/leases.js';
import { queueItems } from '../tables/queue-items.js';
import { type LockedRun, runs } from '../tables/runs.js';
import { closeRuns, type Walk, walk } from './end-runs.js';

export type AttemptOutcome =
  | { readonly kind: 'succeeded'; readonly reasonCode: 'SUCCEEDED' | 'NO_CHANGE' }
  | {
      readonly kind: 'failed';
      readonly reasonCode: ReasonCode;
      readonly detail: string | null;
      readonly retryAfterMs: number | null;
    }
  /** Given back without a charge: drain, pause, breaker. */
  | { readonly kind: 'handed-back'; readonly reasonCode: ReasonCode; readonly retryAfterMs: number | null }
  | { readonly kind: 'no-work'; readonly reasonCode: ReasonCode; readonly detail: string | null }
  | { readonly kind: 'policy-denied'; readonly reasonCode: ReasonCode; readonly detail: string | null }
  /** The result is sealed and a person publishes it. */
  | { readonly kind: 'needs-approval' }
  /** The agent is known to have stopped after a cancel. */
  | { readonly kind: 'cancelled' };

export interface FinishRequest {
  readonly fence: Fence;
  readonly attemptId: AttemptId;
  readonly result: AttemptOutcome;
  readonly costUsd: number;
  readonly evidence: unknown;
  readonly actor: string;
}

export type FinishAnswer =
  | { readonly kind: 'finished'; readonly status: RunStatus; readonly retryAt: number | null }
  /** The lease is gone: another ended or took the run. Nothing was written. */
  | { readonly kind: 'lost' };

export async function finish(
  pool: Pool,
  requests: readonly FinishRequest[],
  random: Random,
): Promise<ReadonlyMap<RunId, FinishAnswer>> {
  if (requests.length === 0) return new Map();
  for (const request of requests) {
    record({
      type: 'invoke',
      op: 'finish',
      run: request.fence.runId,
      fencingToken: request.fence.fencingToken,
      leaseId: request.fence.leaseId,
      result: request.result.kind,
    });
  }
  try {
    const answers = await pool.transaction((c) => finishOnce(c, requests, random));
    for (const request of requests) {
      const answer = answers.get(request.fence.runId);
      record({
        type: answer?.kind === 'finished' ? 'ok' : 'fail',
        op: 'finish',
        run: request.fence.runId,
        fencingToken: request.fence.fencingToken,
        leaseId: request.fence.leaseId,
        result: answer,
      });
    }
    return answers;
  } catch (fault) {
    for (const request of requests) {
      record({
        type: 'info',
        op: 'finish',
        run: request.fence.runId,
        fencingToken: request.fence.fencingToken,
        leaseId: request.fence.leaseId,
        result: String(fault),
      });
    }
    throw fault;
  }
}

async function finishOnce(
  c: Connection,
  requests: readonly FinishRequest[],
  random: Random,
): Promise<ReadonlyMap<RunId, FinishAnswer>> {
  const held = new Set(
    (
      await leases.lockFenced(
        c,
        requests.map((request) => request.fence),
      )
    ).map((lease) => lease.runId),
  );
  const locked = new Map((await runs.lock(c, [...held])).map((run) => [run.runId, run]));
  const endings: Ending[] = [];
  const answers = new Map<RunId, FinishAnswer>();
  for (const request of requests) {
    const run = locked.get(request.fence.runId);
    if (run === undefined || isTerminal(run.status)) answers.set(request.fence.runId, { kind: 'lost' });
    else endings.push(endingOf(run, request, random));
  }
  await writeEndings(c, endings);
  for (const ending of endings) {
    answers.set(ending.runId, { kind: 'finished', status: ending.status, retryAt: ending.requeueDelayMs });
  }
  return answers;
}

/** All that one ended attempt writes. Shared by finish and reaper. */
export interface Ending {
  readonly runId: RunId;
  readonly walk: Walk;
  readonly status: RunStatus;
  readonly counters: RetryCounters;
  readonly attempt: AttemptEnd;
  /** Null: it is not queued again. */
  readonly requeueDelayMs: number | null;
  readonly deadLetter: boolean;
}

/** Lease rows and run rows of all endings are locked by the caller. */
export async function writeEndings(c: Connection, endings: readonly Ending[]): Promise<void> {
  if (endings.length === 0) return;
  const requeued = endings.flatMap((e) =>
    e.requeueDelayMs === null ? [] : [{ runId: e.runId, delayMs: e.requeueDelayMs }],
  );
  const ended = endings.filter((e) => isTerminal(e.status)).map((e) => e.runId);
  await Promise.all([
    attempts.finish(
      c,
      endings.map((e) => e.attempt),
    ),
    runs.setCounters(
      c,
      endings.map((e) => ({ runId: e.runId, ...e.counters })),
    ),
    runs.addCost(
      c,
      endings.map((e) => ({ runId: e.runId, costUsd: e.attempt.costUsd })),
    ),
    settleDay(c, endings),
    queueItems.requeue(c, requeued),
    leases.release(
      c,
      endings.map((e) => e.runId),
    ),
  ]);
  await walk(
    c,
    endings.map((e) => e.walk),
  );
  await closeRuns(
    c,
    ended,
    endings.filter((e) => e.deadLetter && isTerminal(e.status)).map((e) => e.runId),
  );
}

// Folded once per batch, on the tenant's own day.
const settle = statement(
  'tenant_day.settle',
  `insert into headgate.tenant_day as d (tenant_id, day, settled_usd)
   select a.tenant_id, (clock_timestamp() at time zone t.timezone)::date, sum(a.cost_usd)
     from headgate.attempt a join headgate.tenant t on t.id = a.tenant_id
    where a.id = any ($1::uuid[]) and a.cost_usd > 0
    group by 1, 2 order by 1, 2
   on conflict (tenant_id, day) do update set settled_usd = d.settled_usd + excluded.settled_usd`,
);
const settleDay = (c: Connection, endings: readonly Ending[]): Promise<number> => {
  const costly = endings.filter((e) => e.attempt.costUsd > 0).map((e) => e.attempt.attemptId);
  return costly.length === 0 ? Promise.resolve(0) : c.count(settle, [costly]);
};

const countersOf = (run: LockedRun): RetryCounters => ({
  application: run.application,
  infrastructure: run.infrastructure,
  leaseLost: run.leaseLost,
  rateLimit: run.rateLimit,
});

function endingOf(run: LockedRun, request: FinishRequest, random: Random): Ending {
  const decided = decide(run, request.result, random);
  const cancelling = isCancelling(run.status);
  const path = finishPath(run.status, decided.finish);
  const status = path.at(-1) ?? run.status;
  const reasonCode = cancelling ? (run.reasonCode ?? 'CANCELLED_BY_USER') : decided.reasonCode;
  return {
    runId: run.runId,
    status,
    counters: decided.counters,
    requeueDelayMs: status === 'QUEUED' ? decided.delayMs : null,
    deadLetter: decided.deadLetter && !cancelling,
    walk: {
      runId: run.runId,
      from: run.status,
      actor: request.actor,
      steps: path.map((to) => ({ to, reasonCode, detail: decided.detail })),
    },
    attempt: {
      attemptId: request.attemptId,
      status: attemptStatusOf(request.result, cancelling),
      reasonCode: attemptReasonOf(request.result, reasonCode),
      detail: decided.detail,
      costUsd: request.costUsd,
      evidence: request.evidence,
    },
  };
}

interface Decided {
  readonly finish: FinishResult;
  readonly reasonCode: ReasonCode;
  readonly detail: string | null;
  readonly counters: RetryCounters;
  readonly delayMs: number;
  readonly deadLetter: boolean;
}

function decide(run: LockedRun, result: AttemptOutcome, random: Random): Decided {
  const plain = { detail: null, counters: countersOf(run), delayMs: 0, deadLetter: false };
  switch (result.kind) {
    case 'succeeded':
      return { ...plain, finish: { kind: 'succeeded' }, reasonCode: result.reasonCode };
    case 'no-work':
    case 'policy-denied':
      return {
        ...plain,
        finish: { kind: result.kind },
        reasonCode: result.reasonCode,
        detail: result.detail,
      };
    case 'needs-approval':
      return { ...plain, finish: { kind: 'needs-approval' }, reasonCode: 'APPROVAL_REQUIRED' };
    case 'cancelled':
      return { ...plain, finish: { kind: 'cancelled' }, reasonCode: run.reasonCode ?? 'CANCELLED_BY_USER' };
    case 'handed-back':
    case 'failed': {
      const retry = decideRetry({
        reasonCode: result.reasonCode,
        counters: plain.counters,
        policy: run.spec.retry,
        sinceFirstClaimMs: run.sinceFirstClaimMs,
        random: random(),
        retryAfterMs: result.retryAfterMs,
      });
      const detail = result.kind === 'failed' ? result.detail : null;
      return retry.kind === 'retry'
        ? {
            finish: { kind: 'failed', retry: true },
            reasonCode: result.reasonCode,
            detail,
            counters: retry.counters,
            delayMs: retry.delayMs,
            deadLetter: false,
          }
        : {
            finish: { kind: 'failed', retry: false },
            reasonCode: retry.reasonCode,
            detail,
            counters: retry.counters,
            delayMs: 0,
            deadLetter: retry.deadLetter,
          };
    }
  }
}

function attemptStatusOf(result: AttemptOutcome, cancelling: boolean): AttemptEnd['status'] {
  if (cancelling || result.kind === 'cancelled') return 'cancelled';
  switch (result.kind) {
    case 'succeeded':
    case 'no-work':
      return 'succeeded';
    case 'handed-back':
    case 'needs-approval':
      return 'released';
    default:
      return 'failed';
  }
}

/** The attempt keeps its own reason, also where the run ends for another (exhausted, cancelled). */
const attemptReasonOf = (result: AttemptOutcome, runReason: ReasonCode): ReasonCode =>
  'reasonCode' in result ? result.reasonCode : runReason;
