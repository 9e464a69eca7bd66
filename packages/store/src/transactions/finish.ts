/**
 * Finish: result, status, events, item or lease, receipt, in one transaction (INV-ST6), for many runs at once. Two
 * round trips: lock; write and commit.
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
import { type AttemptId, isTerminal, type Random, type RunId, type RunStatus } from '@headgate/domain';
import { HISTORY_OPS } from '@headgate/telemetry';
import { databaseNow } from '../clock.js';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { isDataFault } from '../connection/faults.js';
import { statement } from '../connection/statement.js';
import { tell } from '../history.js';
import type { AttemptEnd } from '../tables/attempts.js';
import { leases } from '../tables/leases.js';
import { runs } from '../tables/runs.js';
import { tenantDays } from '../tables/tenant-days.js';
import { endingOf, mayRetry } from './ending-of.js';
import { type Ending, writeEndings } from './endings.js';
import type { FinishRequest } from './finish-request.js';

export type FinishAnswer =
  | {
      readonly kind: 'finished';
      readonly status: RunStatus;
      /** How long until its next attempt may start; null when there is none, or it was read back. */
      readonly retryInMs: number | null;
      /** Database time; null when it was read back. */
      readonly committedAt: Date | null;
      /** Since the first claim, and since the cancel's commit (null: nobody cancelled it); null when it was read back. */
      readonly ranMs: number | null;
      readonly cancelMs: number | null;
      /** A version waited behind the run and is due now; null when it was read back. */
      readonly isFollowed: boolean | null;
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
      const figures = { retryInMs: null, committedAt: null, ranMs: null, cancelMs: null, isFollowed: null };
      return [fence.runId, { kind: 'finished', status: row.runStatus, ...figures }];
    }),
  );
}

async function finishOnce(
  c: Connection,
  requests: readonly FinishRequest[],
  random: Random,
): Promise<Finished> {
  const costly = requests.filter((request) => request.costUsd > 0).map((request) => request.fence.runId);
  const fences = requests.map((request) => request.fence);
  // Also the runs of leases that are gone are locked: of those nothing is written.
  const [, fenced, runRows] = await Promise.all([
    tenantDays.lock(c, costly),
    leases.lockFenced(c, fences),
    runs.lock(
      c,
      fences.map((fence) => fence.runId),
      { withRetry: requests.some(({ result }) => mayRetry(result)) },
    ),
  ]);
  const held = new Set(fenced.map((lease) => lease.runId));
  const locked = new Map(runRows.map((run) => [run.runId, run]));
  const endings: Ending[] = [];
  const answers = new Map<RunId, FinishAnswer>();
  for (const request of requests) {
    const { runId } = request.fence;
    const run = held.has(runId) ? locked.get(runId) : undefined;
    if (run === undefined || isTerminal(run.status)) {
      answers.set(runId, { kind: 'lost' });
      continue;
    }
    const ending = endingOf(run, request, random);
    if (ending.walk.steps.length > 0) endings.push(ending);
    else {
      const detail = `a run that is ${run.status} cannot end with ${request.result.kind}`;
      answers.set(runId, { kind: 'refused', detail });
    }
  }
  if (endings.length === 0) return answers;
  const [followed, committedAt] = await c.last(() => Promise.all([writeEndings(c, endings), databaseNow(c)]));
  for (const { runId, status, requeueDelayMs: retryInMs } of endings) {
    const ranMs = locked.get(runId)?.sinceFirstClaimMs ?? null;
    const isFollowed = followed.has(runId);
    const cancelMs = locked.get(runId)?.sinceCancelMs ?? null;
    answers.set(runId, { kind: 'finished', status, retryInMs, committedAt, ranMs, cancelMs, isFollowed });
  }
  return answers;
}
