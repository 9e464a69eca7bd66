/**
 * Repairs of what somebody should hold, or holds no more (Q27).
 *
 * As all repairs: one transaction over proven rows, conditional, one event for each run, nothing on a crash. A worker
 * that believes it still holds such a run learns the truth at its next write: its fence matches no row.
 */
import {
  type AttemptId,
  decideRetry,
  finishPath,
  isCancelling,
  isLeased,
  isTerminal,
  pathOutOfPassing,
  type Random,
  type ReasonCode,
  type RetryDecision,
  type RunId,
  type RunStatus,
} from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { attempts, type RunningAttempt } from '../tables/attempts.js';
import { leases } from '../tables/leases.js';
import { queueItems } from '../tables/queue-items.js';
import { type RestoredItem, restoredItems } from '../tables/restored-items.js';
import { runEvents } from '../tables/run-events.js';
import { type LockedRun, retryPolicyOf, runs } from '../tables/runs.js';
import { closeRuns, walk } from './end-runs.js';
import { type Proven, prove, type Repaired, type RepairOptions } from './repairs-prove.js';

export interface LossOptions extends RepairOptions {
  readonly random: Random;
}

export interface MovedOn extends Repaired {
  readonly status: RunStatus;
  readonly reasonCode: MoveRepairCode;
}
export type MoveRepairCode = 'REPAIR_RUN_WITHOUT_LEASE' | 'REPAIR_ENQUEUED';

/** Where a run goes whose claimant is gone. */
interface Way {
  readonly proven: Proven;
  readonly steps: readonly RunStatus[];
  readonly retry: RetryDecision | null;
  /** Of the steps. */
  readonly reasonCode: ReasonCode;
  readonly repairCode: MoveRepairCode;
}

/**
 * Runs in a leased or cancelling status that nobody holds: treated as a lost lease, as the reaper would
 * (REPAIR_RUN_WITHOUT_LEASE). Their attempts end `lost`; a cancelling one ends CANCELLED.
 * @param items what each run's item would be if it is tried again.
 */
export const endUnleased = (
  pool: Pool,
  items: readonly RestoredItem[],
  options: LossOptions,
): Promise<readonly MovedOn[]> => moveOn(pool, items, options, wayOfUnleased);

/**
 * Runs at rest in STALE_LEASE or FAILED_RETRYABLE, where they only pass through: taken to QUEUED (REPAIR_ENQUEUED),
 * or to FAILED if nothing is left to try (REPAIR_RUN_WITHOUT_LEASE).
 */
export const movePassing = (
  pool: Pool,
  items: readonly RestoredItem[],
  options: LossOptions,
): Promise<readonly MovedOn[]> => moveOn(pool, items, options, wayOfPassing);

function moveOn(
  pool: Pool,
  items: readonly RestoredItem[],
  options: LossOptions,
  wayOf: (proven: Proven, random: Random) => Way | null,
): Promise<readonly MovedOn[]> {
  if (items.length === 0) return Promise.resolve([]);
  return pool.transaction(async (c) => {
    const proven = await prove(
      c,
      items.map((item) => item.runId),
    );
    const ways = proven.flatMap((one) => wayOf(one, options.random) ?? []);
    if (ways.length === 0) return [];
    const lost = await attempts.running(
      c,
      ways.map(({ proven: { run } }) => run.runId),
    );
    await write(c, ways, lost, new Map(items.map((item) => [item.runId, item])), options);
    return ways.map(({ proven: { run }, steps, repairCode }) => ({
      runId: run.runId,
      tenantId: run.tenantId,
      status: steps.at(-1) ?? run.status,
      reasonCode: repairCode,
    }));
  });
}

function wayOfUnleased(proven: Proven, random: Random): Way | null {
  const { run, standing } = proven;
  if (standing.isLeased || hidesAnItem(proven)) return null;
  if (!isLeased(run.status) && !isCancelling(run.status)) return null;
  const retry = isCancelling(run.status) ? null : retryOf(run, 'WORKER_LOST', random);
  const steps = finishPath(
    run.status,
    retry === null ? { kind: 'cancelled' } : { kind: 'lease-lost', retry: retry.kind === 'retry' },
  );
  const repairCode = 'REPAIR_RUN_WITHOUT_LEASE';
  if (retry === null) {
    return { proven, steps, retry, reasonCode: run.reasonCode ?? 'CANCELLED_BY_USER', repairCode };
  }
  const reasonCode = retry.kind === 'fail' ? retry.reasonCode : 'WORKER_LOST';
  return { proven, steps, retry, reasonCode, repairCode };
}

function wayOfPassing(proven: Proven, random: Random): Way | null {
  const { run, standing } = proven;
  if (standing.isLeased || hidesAnItem(proven)) return null;
  const retry = run.status === 'STALE_LEASE' ? retryOf(run, 'WORKER_LOST', random) : null;
  const steps = pathOutOfPassing(run.status, retry?.kind !== 'fail');
  if (steps.length === 0) return null;
  const reasonCode = retry?.kind === 'fail' ? retry.reasonCode : (run.reasonCode ?? 'WORKER_LOST');
  const repairCode = retry?.kind === 'fail' ? 'REPAIR_RUN_WITHOUT_LEASE' : 'REPAIR_ENQUEUED';
  return { proven, steps, retry, reasonCode, repairCode };
}

/** It has an item that another transaction works on: not now. */
const hidesAnItem = ({ standing, holdsItem }: Proven): boolean => standing.item !== null && !holdsItem;

const retryOf = (run: LockedRun, reasonCode: ReasonCode, random: Random): RetryDecision =>
  decideRetry({
    reasonCode,
    counters: run,
    policy: retryPolicyOf(run),
    sinceFirstClaimMs: run.sinceFirstClaimMs,
    random: random(),
  });

async function write(
  c: Connection,
  ways: readonly Way[],
  lost: readonly RunningAttempt[],
  items: ReadonlyMap<RunId, RestoredItem>,
  options: LossOptions,
): Promise<void> {
  const detail = 'no lease stood behind it';
  const ended = ways.filter(({ steps }) => isTerminal(steps.at(-1) ?? 'QUEUED'));
  const waiting = ways.filter((way) => !ended.includes(way) && way.proven.standing.item === null);
  const fences = new Map(lost.map((attempt) => [attempt.runId, attempt]));
  await attempts.finish(
    c,
    lost.map(({ attemptId }) => ({
      attemptId,
      status: 'lost',
      reasonCode: 'WORKER_LOST',
      detail,
      costUsd: 0,
      evidence: null,
    })),
  );
  await runs.setCounters(
    c,
    ways.flatMap(({ proven: { run }, retry }) =>
      retry === null ? [] : [{ runId: run.runId, ...retry.counters }],
    ),
  );
  await restoredItems.insert(
    c,
    waiting.flatMap(({ proven: { run }, retry }) => {
      const item = items.get(run.runId);
      return item === undefined ? [] : [{ ...item, delayMs: retry?.kind === 'retry' ? retry.delayMs : 0 }];
    }),
  );
  await queueItems.remove(
    c,
    ended.map(({ proven: { run } }) => run.runId),
  );
  await walk(
    c,
    ways.map(({ proven: { run }, steps, reasonCode }) => {
      const fence = fences.get(run.runId);
      return {
        runId: run.runId,
        from: run.status,
        actor: options.actor,
        ...(fence === undefined ? {} : { fence }),
        steps: steps.map((to) => ({ to, reasonCode, detail })),
      };
    }),
  );
  await runEvents.append(
    c,
    ways.map(({ proven: { run, standing }, steps, repairCode }) => {
      const fence = fences.get(run.runId);
      return {
        tenantId: run.tenantId,
        runId: run.runId,
        taskId: run.taskId,
        type: 'repair.moved_on',
        reasonCode: repairCode,
        actor: options.actor,
        ...(fence === undefined ? {} : { fence }),
        data: { status: standing.status, item: standing.item, to: steps.at(-1), attemptId: fence?.attemptId },
      };
    }),
  );
  await closeRuns(
    c,
    ended.map(({ proven: { run } }) => run.runId),
    ended
      .filter(({ retry }) => retry?.kind === 'fail' && retry.deadLetter)
      .map(({ proven: { run } }) => run.runId),
  );
}

/** Leases of runs that have ended: removed, and what still counts as running ends `lost` (REPAIR_LEASE_OF_TERMINAL). */
export function removeLeasesOfEnded(
  pool: Pool,
  runIds: readonly RunId[],
  options: RepairOptions,
): Promise<readonly Repaired[]> {
  if (runIds.length === 0) return Promise.resolve([]);
  return pool.transaction(async (c) => {
    const ended = (await prove(c, runIds)).filter(
      ({ run, standing, holdsLease }) => isTerminal(run.status) && standing.isLeased && holdsLease,
    );
    await releaseOrphans(
      c,
      ended.map(({ run }) => run),
      options.actor,
    );
    return ended.map(({ run }) => run);
  });
}

/** A lease whose run cannot hold one: it has ended, it waits, or (null) there is no such run. */
export interface Orphan extends Pick<LockedRun, 'runId' | 'tenantId' | 'taskId'> {
  readonly status: RunStatus | null;
}

/** Removes leases that are locked and whose run cannot hold one. Also the reaper's way with such a row. */
export async function releaseOrphans(c: Connection, owners: readonly Orphan[], actor: string): Promise<void> {
  if (owners.length === 0) return;
  const runIds = owners.map((owner) => owner.runId);
  const lost = await attempts.running(c, runIds);
  const detail = 'its run could hold no lease';
  await attempts.finish(
    c,
    lost.map(({ attemptId }) => ({
      attemptId,
      status: 'lost',
      reasonCode: 'WORKER_LOST',
      detail,
      costUsd: 0,
      evidence: null,
    })),
  );
  await leases.release(c, runIds);
  await runEvents.append(
    c,
    owners.map(({ runId, tenantId, taskId, status }) => {
      const fence = lost.find((attempt) => attempt.runId === runId);
      return {
        runId,
        tenantId,
        taskId,
        type: 'repair.lease_removed',
        reasonCode: 'REPAIR_LEASE_OF_TERMINAL',
        actor,
        ...(fence === undefined ? {} : { fence }),
        data: { status, attemptId: fence?.attemptId },
      };
    }),
  );
}

// Attempt and lease begin in one transaction and end in one: an attempt that runs without its lease was left over.
// Those of a run that should hold a lease are `endUnleased`'s. Index: attempt_running; the leases are few.
const endLost = statement(
  'repair.end_lost_attempts',
  `with lost as materialized (
     select a.id from headgate.attempt a join headgate.run r on r.id = a.run_id
      where a.status = 'running'
        and r.status not in ('CLAIMED', 'PREPARING_SANDBOX', 'RUNNING', 'VERIFYING', 'JUDGING', 'FINALIZING',
                             'STALE_LEASE', 'FAILED_RETRYABLE', 'CANCEL_REQUESTED', 'CANCELLING')
        and not exists (select 1 from headgate.lease l where l.attempt_id = a.id)
      order by a.id limit $1 for update of a skip locked
   ), ended as (
     update headgate.attempt a
        set status = 'lost', reason_code = 'REPAIR_OVERLONG_ATTEMPT', finished_at = clock_timestamp(),
            detail = 'its lease was gone and its run had moved on'
       from lost where a.id = lost.id and a.status = 'running'
     returning a.id, a.tenant_id, a.run_id, a.number, a.lease_id, a.fencing_token
   ), told as (
     insert into headgate.run_event
       (id, tenant_id, run_id, task_id, type, reason_code, actor, attempt_no, lease_id, fencing_token, data)
     select headgate.uuid7(), e.tenant_id, e.run_id, r.task_id, 'repair.attempt_ended', 'REPAIR_OVERLONG_ATTEMPT', $2,
            e.number, e.lease_id, e.fencing_token, jsonb_build_object('attemptId', e.id)
       from ended e join headgate.run r on r.id = e.run_id
   )
   select id as "attemptId", run_id as "runId", tenant_id as "tenantId" from ended`,
);

/** Attempts that still count as running although their lease is gone and their run has moved on (REPAIR_OVERLONG_ATTEMPT). */
export const endLostAttempts = (
  pool: Pool,
  limit: number,
  options: RepairOptions,
): Promise<readonly (Repaired & { readonly attemptId: AttemptId })[]> =>
  pool.transaction((c) =>
    c.run<Repaired & { readonly attemptId: AttemptId }>(endLost, [limit, options.actor]),
  );
