/**
 * Finish: result, status, events, item or lease, receipt, in one transaction (INV-ST6), for many runs at once.
 *
 * Who may write: the holder of the fence, under the lease row's lock. The lease need not be current: until the
 * reaper has taken it the work is the holder's to hand in (SQL rule 5). Lock order: tenant_day (only if there is a
 * cost to settle; waited for while nothing else is held), lease, run, approval, deferred_signal.
 *  - finish against reaper: whoever locks the lease row first wins; the other finds no row and writes nothing.
 *  - finish against cancel: the run's status is read under its lock. CANCEL_REQUESTED ends CANCELLED, with the
 *    attempt's evidence kept; a terminal run refuses.
 *  - one bad row of a batch: on a data fault the batch is halved until it stands alone (SQL rule 9).
 * Crash before COMMIT: nothing. COMMIT without an answer: read back by attempt id. After a restart the worker asks
 * again, finds no lease, and takes `lost` for an answer; the run's end stands.
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
import { HISTORY_OPS } from '@headgate/telemetry';
import { databaseNow } from '../clock.js';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { isDataFault } from '../connection/faults.js';
import { statement } from '../connection/statement.js';
import type { Fence } from '../fence.js';
import { tell } from '../history.js';
import { approvals, type NewApproval } from '../tables/approvals.js';
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
  | { readonly kind: 'needs-approval'; readonly proposal: Proposal; readonly detail: string | null }
  /** The agent is known to have stopped after a cancel. */
  | { readonly kind: 'cancelled' };

/** What a person will be asked about the sealed result. */
export type Proposal = Pick<NewApproval, 'policyVersion' | 'operations' | 'fourEyes'>;

export interface FinishRequest {
  readonly fence: Fence;
  readonly attemptId: AttemptId;
  readonly result: AttemptOutcome;
  readonly costUsd: number;
  readonly evidence: unknown;
  readonly actor: string;
}

export type FinishAnswer =
  /** `retryInMs`: how long until its next attempt may start; null when there is none, or it was read back. */
  | {
      readonly kind: 'finished';
      readonly status: RunStatus;
      readonly retryInMs: number | null;
      /** Database time; null when it was read back. */
      readonly committedAt: Date | null;
    }
  /** The lease is gone: another ended or took the run. Nothing was written. */
  | { readonly kind: 'lost' }
  /**
   * No run in this status can end so, or the database refused the row. Nothing was written and the lease stands:
   * end the attempt otherwise, or leave it to the reaper.
   */
  | { readonly kind: 'refused'; readonly detail: string };

type Finished = ReadonlyMap<RunId, FinishAnswer>;

export async function finish(
  pool: Pool,
  requests: readonly FinishRequest[],
  random: Random,
): Promise<ReadonlyMap<RunId, FinishAnswer>> {
  if (requests.length === 0) return new Map();
  for (const { fence } of requests) tell.invoked(HISTORY_OPS.finish, fence);
  let written: Finished;
  try {
    written = await finishHalving(pool, requests, random);
  } catch (fault) {
    for (const { fence } of requests) tell.lost(HISTORY_OPS.finish, fence, fault);
    throw fault;
  }
  for (const { fence } of requests) {
    const answer = written.get(fence.runId);
    if (answer?.kind === 'finished') {
      const { status, committedAt } = answer;
      tell.took(HISTORY_OPS.finish, fence, { status, ...(committedAt === null ? {} : { committedAt }) });
    } else tell.refused(HISTORY_OPS.finish, fence, { answer: answer?.kind ?? 'lost' });
  }
  return written;
}

async function finishHalving(
  pool: Pool,
  requests: readonly FinishRequest[],
  random: Random,
): Promise<Finished> {
  try {
    return await pool.transaction((c) => finishOnce(c, requests, random), {
      readBack: (c) => readBack(c, requests),
    });
  } catch (fault) {
    if (!isDataFault(fault)) throw fault;
    const [only] = requests;
    if (only !== undefined && requests.length === 1) {
      return new Map([[only.fence.runId, { kind: 'refused', detail: String(fault) }]]);
    }
    const half = Math.ceil(requests.length / 2);
    return new Map([
      ...(await finishHalving(pool, requests.slice(0, half), random)),
      ...(await finishHalving(pool, requests.slice(half), random)),
    ]);
  }
}

const endedAttempts = statement(
  'finish.read_back',
  `select a.id as "attemptId", a.status, r.status as "runStatus"
     from headgate.attempt a join headgate.run r on r.id = a.run_id where a.id = any ($1::uuid[])`,
);

/** What a finish left whose COMMIT had no answer; null = nothing. One transaction: all of its rows, or none. */
async function readBack(c: Connection, requests: readonly FinishRequest[]): Promise<Finished | null> {
  const rows = await c.run<{
    attemptId: AttemptId;
    status: AttemptEnd['status'] | 'running';
    runStatus: RunStatus;
  }>(endedAttempts, [requests.map((request) => request.attemptId)]);
  if (!rows.some((row) => row.status !== 'running' && row.status !== 'lost')) return null;
  const byId = new Map(rows.map((row) => [row.attemptId, row]));
  return new Map(
    requests.map(({ fence, attemptId }): [RunId, FinishAnswer] => {
      const row = byId.get(attemptId);
      if (row === undefined || row.status === 'lost') return [fence.runId, { kind: 'lost' }];
      if (row.status === 'running')
        return [fence.runId, { kind: 'refused', detail: 'its attempt still runs' }];
      return [fence.runId, { kind: 'finished', status: row.runStatus, retryInMs: null, committedAt: null }];
    }),
  );
}

async function finishOnce(
  c: Connection,
  requests: readonly FinishRequest[],
  random: Random,
): Promise<Finished> {
  const costly = requests.filter((request) => request.costUsd > 0);
  if (costly.length > 0) {
    const runIds = costly.map((request) => request.fence.runId);
    await Promise.all([c.run(makeDays, [runIds]), c.run(lockDays, [runIds])]);
  }
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
    if (run === undefined || isTerminal(run.status)) {
      answers.set(request.fence.runId, { kind: 'lost' });
      continue;
    }
    const ending = endingOf(run, request, random);
    if (ending.walk.steps.length > 0) endings.push(ending);
    else {
      const detail = `a run that is ${run.status} cannot end with ${request.result.kind}`;
      answers.set(request.fence.runId, { kind: 'refused', detail });
    }
  }
  await writeEndings(c, endings);
  const committedAt = endings.length === 0 ? null : await databaseNow(c);
  for (const { runId, status, requeueDelayMs: retryInMs } of endings) {
    answers.set(runId, { kind: 'finished', status, retryInMs, committedAt });
  }
  return answers;
}

/** All that one ended attempt writes. Shared by finish and reaper. */
export interface Ending {
  readonly runId: RunId;
  readonly walk: Walk;
  readonly status: RunStatus;
  /** Null: as they were. Most runs end well, and an update that changes nothing is written all the same. */
  readonly counters: RetryCounters | null;
  readonly attempt: AttemptEnd;
  /** Null: it is not queued again. */
  readonly requeueDelayMs: number | null;
  readonly deadLetter: boolean;
  /** Null: it does not wait for a person. */
  readonly proposal: Proposal | null;
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
      endings.flatMap((e) => (e.counters === null ? [] : [{ runId: e.runId, ...e.counters }])),
    ),
    runs.addCost(
      c,
      endings.map((e) => ({ runId: e.runId, costUsd: e.attempt.costUsd })),
    ),
    settleDay(c, endings),
    queueItems.requeue(c, requeued),
    approvals.request(
      c,
      endings.flatMap(({ runId, proposal }) =>
        proposal === null ? [] : [{ ...proposal, runId, subject: 'proposal' as const }],
      ),
    ),
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

// The days that costs may fall on, made and locked before anything else (SQL rule 8), in (tenant, day) order.
const daysOf = `select distinct r.tenant_id, (clock_timestamp() at time zone t.timezone)::date as day
     from headgate.run r join headgate.tenant t on t.id = r.tenant_id where r.id = any ($1::uuid[])`;
const makeDays = statement(
  'tenant_day.make',
  `insert into headgate.tenant_day (tenant_id, day) ${daysOf} order by 1, 2 on conflict do nothing`,
);
const lockDays = statement(
  'tenant_day.lock',
  `select 1 from headgate.tenant_day d join (${daysOf}) day using (tenant_id, day)
    order by d.tenant_id, d.day for update of d`,
);
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
    proposal:
      status === 'WAITING_APPROVAL' && request.result.kind === 'needs-approval'
        ? request.result.proposal
        : null,
    walk: {
      runId: run.runId,
      from: run.status,
      actor: request.actor,
      fence: request.fence,
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
  readonly counters: RetryCounters | null;
  readonly delayMs: number;
  readonly deadLetter: boolean;
}

function decide(run: LockedRun, result: AttemptOutcome, random: Random): Decided {
  const plain = { detail: null, counters: null, delayMs: 0, deadLetter: false };
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
      return {
        ...plain,
        finish: { kind: 'needs-approval' },
        reasonCode: 'APPROVAL_REQUIRED',
        detail: result.detail,
      };
    case 'cancelled':
      return { ...plain, finish: { kind: 'cancelled' }, reasonCode: run.reasonCode ?? 'CANCELLED_BY_USER' };
    case 'handed-back':
    case 'failed': {
      const retry = decideRetry({
        reasonCode: result.reasonCode,
        counters: countersOf(run),
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
