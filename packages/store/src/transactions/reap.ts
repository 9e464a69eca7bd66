/**
 * The reaper: ends attempts whose lease ran out (Q4).
 *
 * Who may write: any reconciler; there may be several. Lock order: lease (SKIP LOCKED, then compared with the clock
 * again), run, deferred_signal.
 *  - two reapers: SKIP LOCKED; one expiry consumes one attempt however many run (INV-ST3).
 *  - reaper against a late heartbeat: the beat holds or finds the row; an expired lease is never renewed, so the
 *    reaper's word stands (INV-LE4).
 *  - reaper against finish: the row lock decides; the finisher finds no row and hears `lost`.
 *  - a cancelling run ends CANCELLED, never a retry.
 * Mass-expiry guard: more than max(10, half) of the live leases at once look like our own stall or a clock step, not
 * like so many dead workers: each is given one grace TTL, once, with an event MASS_EXPIRY.
 * One bad row: on a fault of its own each lease is taken in a transaction of its own, and what is still refused is
 * named in the answer (SQL rule 9).
 * Crash before COMMIT: nothing. Bounded by `limit` per call.
 */
import {
  decideRetry,
  finishPath,
  formatId,
  isCancelling,
  isTerminal,
  type LeaseId,
  type Random,
  type ReasonCode,
  type RunId,
  type RunStatus,
} from '@headgate/domain';
import { failPoint, HISTORY_OPS } from '@headgate/telemetry';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { isRowFault } from '../connection/faults.js';
import { tell } from '../history.js';
import { type ExpiredLease, type GracedLease, leases } from '../tables/leases.js';
import { type LockedRun, retryPolicyOf, runs } from '../tables/runs.js';
import { type Ending, writeEndings } from './endings.js';
import { type Orphan, releaseOrphans } from './repairs-lease.js';

export interface ReapOptions {
  readonly limit: number;
  readonly graceMs: number;
  readonly random: Random;
  readonly actor: string;
}

export interface Reaped {
  readonly runId: RunId;
  readonly tenantId: number;
  readonly leaseId: LeaseId;
  readonly fencingToken: string;
  readonly reasonCode: ReasonCode;
  readonly status: RunStatus;
  /** Both in database time. */
  readonly expiredAtMs: number;
  readonly reapedAtMs: number;
}

export type ReapResult =
  | {
      readonly kind: 'reaped';
      readonly runs: readonly Reaped[];
      /** Rows that the database refused; their leases stand. */
      readonly refused: readonly { readonly runId: RunId; readonly fault: unknown }[];
    }
  | { readonly kind: 'graced'; readonly leases: readonly GracedLease[] };

const MASS_FLOOR = 10;

export async function reap(pool: Pool, options: ReapOptions): Promise<ReapResult> {
  let result: ReapResult;
  // Asked alone first, since there is nothing to take nearly always: counted again under the locks.
  const { expired } = await pool.use((c) => leases.counts(c));
  if (expired === 0) return { kind: 'reaped', runs: [], refused: [] };
  try {
    result = await pool.transaction((c) => reapBatch(c, options));
  } catch (fault) {
    if (!isRowFault(fault)) throw fault;
    result = await reapSingly(pool, options);
  }
  if (result.kind === 'reaped') {
    for (const run of result.runs) {
      const { expiredAtMs, reapedAtMs, status } = run;
      tell.took(HISTORY_OPS.reap, run, { expiredAt: expiredAtMs, reapedAt: reapedAtMs, status });
    }
  } else {
    for (const lease of result.leases) {
      const { reapedAt, expiresAt } = lease;
      tell.took(HISTORY_OPS.reap, lease, { graced: true, reapedAt, expiresAt });
    }
  }
  return result;
}

async function reapBatch(c: Connection, options: ReapOptions): Promise<ReapResult> {
  const counts = await leases.counts(c);
  if (counts.expired === 0) return { kind: 'reaped', runs: [], refused: [] };
  if (counts.expiredUngraced > Math.max(MASS_FLOOR, counts.live / 2)) {
    const graced = await leases.grace(c, options.graceMs, options.actor);
    if (graced.length > 0) return { kind: 'graced', leases: graced };
  }
  return { kind: 'reaped', runs: await reapOnce(c, options, null), refused: [] };
}

async function reapSingly(pool: Pool, options: ReapOptions): Promise<ReapResult> {
  const runs: Reaped[] = [];
  const refused: { runId: RunId; fault: unknown }[] = [];
  // More than `limit` are looked at, so that refused rows at the front do not hide those behind them.
  for (const runId of await pool.use((c) => leases.expiredIds(c, options.limit * 10))) {
    if (runs.length >= options.limit) break;
    try {
      runs.push(...(await pool.transaction((c) => reapOnce(c, options, [runId]))));
    } catch (fault) {
      if (!isRowFault(fault)) throw fault;
      refused.push({ runId, fault });
    }
  }
  return { kind: 'reaped', runs, refused };
}

async function reapOnce(
  c: Connection,
  options: ReapOptions,
  only: readonly RunId[] | null,
): Promise<readonly Reaped[]> {
  const expired = await leases.lockExpired(c, options.limit, only);
  await failPoint('reconciler.reap.locked');
  const locked = new Map(
    (
      await runs.lock(
        c,
        expired.map((lease) => lease.runId),
        { withRetry: true },
      )
    ).map((run) => [run.runId, run]),
  );
  const endings: Ending[] = [];
  const orphans: Orphan[] = [];
  const reaped: Reaped[] = [];
  for (const lease of expired) {
    const run = locked.get(lease.runId);
    if (run === undefined || isTerminal(run.status)) {
      orphans.push({ ...lease, status: run?.status ?? null });
      continue;
    }
    const ending = endingOf(run, lease, options);
    // A lease beside a run that cannot lose one: only the lease is wrong.
    if (ending.walk.steps.length === 0) {
      orphans.push({ ...lease, status: run.status });
      continue;
    }
    endings.push(ending);
    reaped.push({
      runId: lease.runId,
      tenantId: lease.tenantId,
      leaseId: lease.leaseId,
      fencingToken: lease.fencingToken,
      reasonCode: ending.attempt.reasonCode ?? 'WORKER_LOST',
      status: ending.status,
      expiredAtMs: lease.expiredAtMs,
      reapedAtMs: lease.takenAtMs,
    });
  }
  await writeEndings(c, endings);
  await releaseOrphans(c, orphans, options.actor);
  return reaped;
}

function endingOf(run: LockedRun, lease: ExpiredLease, options: ReapOptions): Ending {
  const reasonCode: ReasonCode = lease.overlong ? 'WALL_CLOCK_EXCEEDED' : 'WORKER_LOST';
  const counters = {
    application: run.application,
    infrastructure: run.infrastructure,
    leaseLost: run.leaseLost,
    rateLimit: run.rateLimit,
  };
  const cancelling = isCancelling(run.status);
  const retry = decideRetry({
    reasonCode,
    counters,
    policy: retryPolicyOf(run),
    sinceFirstClaimMs: run.sinceFirstClaimMs,
    random: options.random(),
  });
  const path = finishPath(
    run.status,
    cancelling ? { kind: 'cancelled' } : { kind: 'lease-lost', retry: retry.kind === 'retry' },
  );
  const status = path.at(-1) ?? run.status;
  const runReason: ReasonCode = cancelling
    ? (run.reasonCode ?? 'CANCELLED_BY_USER')
    : retry.kind === 'retry'
      ? reasonCode
      : retry.reasonCode;
  const detail = `worker ${formatId('wkr', lease.workerId)} did not renew lease ${formatId('lease', lease.leaseId)}`;
  return {
    runId: run.runId,
    passed: [],
    status,
    counters: cancelling ? counters : retry.counters,
    requeueDelayMs: status === 'QUEUED' && retry.kind === 'retry' ? retry.delayMs : null,
    deadLetter: !cancelling && retry.kind === 'fail' && retry.deadLetter,
    proposal: null,
    walk: {
      runId: run.runId,
      from: run.status,
      actor: options.actor,
      fence: lease,
      steps: path.map((to) => ({ to, reasonCode: runReason, detail })),
    },
    attempt: { attemptId: lease.attemptId, status: 'lost', reasonCode, detail, costUsd: 0, evidence: null },
  };
}
