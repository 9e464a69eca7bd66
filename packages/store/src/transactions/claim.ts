/**
 * Claim: from a dispatched item to a fenced lease, for as many runs as the worker has slots (Q13).
 *
 * Who may write: only the worker that was told (run id, dispatch number) and has just found the run fresh (I6). The
 * verdict travels with the claim and is written nowhere: it is worth something to this claim alone, and (run id,
 * dispatch number) fences both. Its age is counted by the worker until it asks, and by the database from there, so that
 * a wait for the policy lock is part of it.
 * Lock order: policy (shared, own statement), item (SKIP LOCKED), lease, run.
 *  - two workers with the same hint: SKIP LOCKED gives the item to one; the other finds nothing and drops the hint.
 *  - claim against cancel: see stop-runs. Against supersede: the same.
 *  - claim against activation of a policy: the shared lock is taken before the head is read, so a claim under the
 *    old head has committed before the new one counts.
 *  - rivals for an exclusive key: `on conflict do nothing`; the loser's item goes back to ready with
 *    CONCURRENCY_KEY_BUSY, uncharged.
 * Two round trips: lock and read (what was read of items that others have is passed over); take, write and commit.
 * Crash before COMMIT: the item is dispatched still; it is hinted again after 5 s and taken back after 30 s.
 * COMMIT without an answer: read back by lease id, which the caller made. Crash after COMMIT: the lease expires and
 * the reaper takes it. Execution is outside any transaction.
 */
import {
  type AttemptId,
  formatId,
  type LeaseId,
  type ReceiptId,
  type RetryCounters,
  type RunId,
  type RunSpec,
  type RunStatus,
  type TaskId,
  type WorkerId,
} from '@headgate/domain';
import { HISTORY_OPS, record } from '@headgate/telemetry';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { tell } from '../history.js';
import { locks } from '../locks.js';
import { attempts } from '../tables/attempts.js';
import { type HeldLease, leases } from '../tables/leases.js';
import { policies } from '../tables/policies.js';
import { queueItems } from '../tables/queue-items.js';
import { runs } from '../tables/runs.js';
import { workers } from '../tables/workers.js';

export interface Hinted {
  readonly runId: RunId;
  readonly dispatchNo: number;
  readonly attemptId: AttemptId;
  readonly leaseId: LeaseId;
  /** How long ago the claimant began to find it fresh. */
  readonly judgedAgoMs: number;
}

export interface ClaimRequest {
  readonly workerId: WorkerId;
  readonly queueIds: readonly number[];
  readonly ttlMs: number;
  /** The policy version this worker decides by. */
  readonly policyVersion: number;
  readonly hinted: readonly Hinted[];
  /** Free slots. */
  readonly limit: number;
  /** How old a verdict may be. */
  readonly verdictMaxAgeMs: number;
}

/** A run as its claimant holds it. The specification, which never changes, is what it was judged by. */
export interface ClaimedRun {
  readonly runId: RunId;
  readonly tenantId: number;
  readonly taskId: TaskId;
  readonly receiptId: ReceiptId;
  readonly generation: number;
  readonly publication: number;
  readonly inputVersion: string;
  readonly source: string;
  readonly queue: string;
  readonly attemptNo: number;
  readonly attemptId: AttemptId;
  readonly leaseId: LeaseId;
  readonly fencingToken: string;
  /** Database time, for the record; a worker judges its lease by its own monotonic clock. */
  readonly acquiredAt: Date;
  readonly expiresAt: Date;
  readonly failures: RetryCounters;
  readonly sealed: boolean;
  readonly branch: string | null;
  readonly traceparent: string | null;
  readonly createdAt: Date;
  readonly firstStartedAt: Date | null;
}

export type ClaimResult =
  | { readonly kind: 'claimed'; readonly runs: readonly ClaimedRun[]; readonly busy: readonly RunId[] }
  /** The active policy is another: reload, write new verdicts, try again. */
  | { readonly kind: 'policy-changed'; readonly head: number | null }
  /** This worker's row is gone, draining or declared dead. */
  | { readonly kind: 'not-ready' };

// (run id, dispatch number) is the fence of the verdict. Index: queue_item_pkey.
const pick = statement(
  'claim.pick',
  `with wanted as (
     select * from unnest($1::uuid[], $2::int[], $3::float8[]) as w(run_id, dispatch_no, judged_ago_ms)
      where w.judged_ago_ms + extract(epoch from clock_timestamp() - transaction_timestamp()) * 1000 <= $5
   ), picked as materialized (
     select q.run_id from headgate.queue_item q join wanted w on w.run_id = q.run_id and w.dispatch_no = q.dispatch_no
      where q.state = 'dispatched' and q.queue_id = any ($4::int[])
      order by q.run_id limit $6 for update of q skip locked
   )
   select run_id as "runId" from picked`,
);
// A statement of its own, for a snapshot taken after the items were locked: nobody moves a waiting run without its item.
const reread = statement(
  'claim.reread',
  `select r.id as "runId", r.tenant_id as "tenantId", r.task_id as "taskId", r.receipt_id as "receiptId", r.generation,
          r.publication, r.input_version as "inputVersion", r.spec -> 'limits' as limits, r.source, r.queue,
          r.sealed_at is not null as sealed, r.branch, r.traceparent, r.created_at as "createdAt", r.started_at as "firstStartedAt",
          r.failures_application as application, r.failures_infrastructure as infrastructure,
          r.failures_lease_lost as "leaseLost", r.failures_rate_limit as "rateLimit", r.status,
          t.cancelled_at is not null as "taskCancelled"
     from headgate.run r join headgate.task t on t.id = r.task_id
    where r.id = any ($1::uuid[])`,
);

interface Reread extends RetryCounters {
  readonly runId: RunId;
  readonly tenantId: number;
  readonly taskId: TaskId;
  readonly receiptId: ReceiptId;
  readonly generation: number;
  readonly publication: number;
  readonly inputVersion: string;
  readonly limits: RunSpec['limits'];
  readonly source: string;
  readonly queue: string;
  readonly sealed: boolean;
  readonly branch: string | null;
  readonly traceparent: string | null;
  readonly createdAt: Date;
  readonly firstStartedAt: Date | null;
  readonly status: RunStatus;
  readonly taskCancelled: boolean;
}

/** Slack between the end of the last allowed stage and the moment the lease can no longer be renewed. */
const RENEW_SLACK_MS = 60_000;

/** How long a claim of this run may be renewed at most: past it the reaper takes it by itself. */
export function maxLeaseMs({ limits }: Pick<RunSpec, 'limits'>): number {
  const { sandboxStartMs, wallClockMs, verifyMs, finalizeMs } = limits;
  return sandboxStartMs + wallClockMs + verifyMs + finalizeMs + RENEW_SLACK_MS;
}

export async function claim(pool: Pool, request: ClaimRequest): Promise<ClaimResult> {
  if (request.hinted.length === 0 || request.limit <= 0) return { kind: 'claimed', runs: [], busy: [] };
  const key = request.workerId;
  const op = HISTORY_OPS.claim;
  record({ type: 'invoke', op, key, result: { limit: request.limit } });
  try {
    const result = await pool.transaction((c) => claimOnce(c, request), {
      readBack: (c) => readBack(c, request),
    });
    for (const run of result.kind === 'claimed' ? result.runs : []) {
      const { acquiredAt, expiresAt } = run;
      tell.took(op, { ...run, key }, { acquiredAt, expiresAt });
    }
    return result;
  } catch (fault) {
    record({ type: 'info', op, key, result: { fault: String(fault) } });
    throw fault;
  }
}

async function claimOnce(c: Connection, request: ClaimRequest): Promise<ClaimResult> {
  const runIds = request.hinted.map((hint) => hint.runId);
  // In this order on the wire, each with a snapshot of its own: the head is read once the policy lock is held, the runs
  // once their items are.
  const [, head, ready, picked, read] = await Promise.all([
    locks.policyShared(c),
    policies.headVersion(c),
    workers.isReady(c, request.workerId),
    c.run<{ runId: RunId }>(pick, [
      runIds,
      request.hinted.map((hint) => hint.dispatchNo),
      request.hinted.map((hint) => hint.judgedAgoMs),
      request.queueIds,
      request.verdictMaxAgeMs,
      request.limit,
    ]),
    c.run<Reread>(reread, [runIds]),
  ]);
  if (head !== request.policyVersion) return { kind: 'policy-changed', head };
  if (!ready) return { kind: 'not-ready' };
  const ours = new Set(picked.map((row) => row.runId));
  const rows = new Map(
    read
      .filter((row) => ours.has(row.runId) && row.status === 'QUEUED' && !row.taskCancelled)
      .map((row) => [row.runId, row]),
  );
  if (rows.size === 0) return { kind: 'claimed', runs: [], busy: [] };
  const hints = new Map(request.hinted.map((hint) => [hint.runId, hint]));
  const wanted = [...rows.values()].flatMap((row) => {
    const hint = hints.get(row.runId);
    return hint === undefined
      ? []
      : [{ runId: row.runId, attemptId: hint.attemptId, leaseId: hint.leaseId, maxMs: maxLeaseMs(row) }];
  });
  const wantedIds = wanted.map((lease) => lease.runId);
  const leaseIds = wanted.map((lease) => lease.leaseId);
  // In this order on the wire: each statement finds the leases that were taken by their ids, and an attempt takes its number
  // from the run that has moved.
  const [held, , , numbers] = await c.last(() =>
    Promise.all([
      leases.take(c, wanted, request.workerId, request.ttlMs),
      queueItems.settleClaim(c, wantedIds, leaseIds, 'CONCURRENCY_KEY_BUSY'),
      runs.claim(c, wantedIds, leaseIds, `worker:${formatId('wkr', request.workerId)}`),
      attempts.start(c, wantedIds, leaseIds),
    ]),
  );
  const isHeld = new Set(held.map((lease) => lease.runId));
  const busy = wantedIds.filter((runId) => !isHeld.has(runId));
  return { kind: 'claimed', runs: claimedRuns(held, rows, numbers), busy };
}

const taken = statement(
  'claim.read_back',
  `select l.run_id as "runId", l.attempt_id as "attemptId", l.lease_id as "leaseId",
          l.fencing_token::text as "fencingToken", l.acquired_at as "acquiredAt", l.expires_at as "expiresAt", a.number
     from headgate.lease l join headgate.attempt a on a.id = l.attempt_id
     join unnest($1::uuid[], $2::uuid[]) as mine(run_id, lease_id)
       on mine.run_id = l.run_id and mine.lease_id = l.lease_id`,
);

/** The leases that a claim left whose COMMIT had no answer; null = none, so it may be tried again. */
async function readBack(c: Connection, request: ClaimRequest): Promise<ClaimResult | null> {
  const held = await c.run<HeldLease & { number: number }>(taken, [
    request.hinted.map((hint) => hint.runId),
    request.hinted.map((hint) => hint.leaseId),
  ]);
  if (held.length === 0) return null;
  const rows = await c.run<Reread>(reread, [held.map((lease) => lease.runId)]);
  const byId = new Map(rows.map((row) => [row.runId, row]));
  return { kind: 'claimed', runs: claimedRuns(held, byId, held), busy: [] };
}

function claimedRuns(
  held: readonly HeldLease[],
  rows: ReadonlyMap<RunId, Reread>,
  numbers: readonly { runId: RunId; number: number }[],
): readonly ClaimedRun[] {
  const numberOf = new Map(numbers.map((row) => [row.runId, row.number]));
  return held.flatMap((lease) => {
    const row = rows.get(lease.runId);
    const attemptNo = numberOf.get(lease.runId);
    return row === undefined || attemptNo === undefined ? [] : [claimedRun(lease, row, attemptNo)];
  });
}

function claimedRun(lease: HeldLease, row: Reread, attemptNo: number): ClaimedRun {
  const { application, infrastructure, leaseLost, rateLimit } = row;
  return {
    runId: row.runId,
    tenantId: row.tenantId,
    taskId: row.taskId,
    receiptId: row.receiptId,
    generation: row.generation,
    publication: row.publication,
    inputVersion: row.inputVersion,
    source: row.source,
    queue: row.queue,
    attemptNo,
    attemptId: lease.attemptId,
    leaseId: lease.leaseId,
    fencingToken: lease.fencingToken,
    acquiredAt: lease.acquiredAt,
    expiresAt: lease.expiresAt,
    failures: { application, infrastructure, leaseLost, rateLimit },
    sealed: row.sealed,
    branch: row.branch,
    traceparent: row.traceparent,
    createdAt: row.createdAt,
    firstStartedAt: row.firstStartedAt,
  };
}
