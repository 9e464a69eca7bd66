/**
 * From dispatched items to leases, in one statement: it asks whether this worker may claim, locks the items, makes the leases,
 * and settles the items by what became of them.
 *
 * Whatever decides is read with the snapshot that the items were found by. That is enough: whoever moves a waiting run
 * deletes its item, or takes it out of `dispatched`, in the same transaction, and an item that was changed meanwhile is
 * looked at again once it is locked. Rivals for an exclusive key are kept apart by the lease's unique keys, in one order.
 */
import type { AttemptId, LeaseId, ReceiptId, RetryCounters, RunId, TaskId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';
import { DIMENSION_COLUMNS } from '../tables/queue-items.js';
import type { ClaimRequest } from './claim.js';

/** What a claim reads of a run, as it was before. */
interface RunAsClaimed extends RetryCounters {
  readonly runId: RunId;
  readonly tenantId: number;
  readonly taskId: TaskId;
  readonly receiptId: ReceiptId;
  readonly generation: number;
  readonly publication: number;
  readonly inputVersion: string;
  readonly source: string;
  readonly queue: string;
  readonly sealed: boolean;
  readonly branch: string | null;
  readonly traceparent: string | null;
  readonly createdAt: Date;
  readonly firstStartedAt: Date | null;
}

interface TakenLease {
  readonly attemptId: AttemptId;
  readonly leaseId: LeaseId;
  readonly fencingToken: string;
  /** Database time, for the record; a worker judges its lease by its own monotonic clock. */
  readonly acquiredAt: Date;
  readonly expiresAt: Date;
}

export type TakenRun = RunAsClaimed & TakenLease;

export const RUN_COLUMNS = `r.id as "runId", r.tenant_id as "tenantId", r.task_id as "taskId", r.receipt_id as "receiptId",
  r.generation, r.publication, r.input_version as "inputVersion", r.source, r.queue, r.sealed_at is not null as sealed,
  r.branch, r.traceparent, r.created_at as "createdAt", r.started_at as "firstStartedAt",
  r.failures_application as application, r.failures_infrastructure as infrastructure,
  r.failures_lease_lost as "leaseLost", r.failures_rate_limit as "rateLimit"`;

export const LEASE_COLUMNS = `l.attempt_id as "attemptId", l.lease_id as "leaseId", l.fencing_token::text as "fencingToken",
  l.acquired_at as "acquiredAt", l.expires_at as "expiresAt"`;

/** Slack between the end of the last allowed stage and the moment the lease can no longer be renewed. */
const RENEW_SLACK_MS = 60_000;
/** How long a claim of this run may be renewed at most: past it the reaper takes it by itself. */
const MOST_MS = `(${['sandboxStartMs', 'wallClockMs', 'verifyMs', 'finalizeMs']
  .map((stage) => `(s.limits ->> '${stage}')::bigint`)
  .join(' + ')} + ${RENEW_SLACK_MS})`;

// (run id, dispatch number) is the fence of the verdict. Index: queue_item_pkey, run_pkey, task_pkey. An item is dispatched where
// it says when, as in dispatched-runs.ts.
const take = statement(
  'claim.take',
  `with wanted as (
     select * from unnest($1::uuid[], $2::int[], $3::float8[], $4::uuid[], $5::uuid[])
         as w(run_id, dispatch_no, judged_ago_ms, attempt_id, lease_id)
      where w.judged_ago_ms + extract(epoch from clock_timestamp() - transaction_timestamp()) * 1000 <= $6
        and (select policy_version from headgate.policy_head) = $7
        and exists (select from headgate.worker where id = $8 and state = 'READY')
   ), picked as materialized (
     select q.*, w.attempt_id, w.lease_id
       from headgate.queue_item q join wanted w on w.run_id = q.run_id and w.dispatch_no = q.dispatch_no
      where q.dispatched_at is not null and q.queue_id = any ($9::int[])
      order by q.run_id limit $10 for update of q skip locked
   ), eligible as materialized (
     select p.*, ${MOST_MS} as most_ms
       from picked p join headgate.run r on r.id = p.run_id join headgate.task t on t.id = r.task_id
      cross join lateral (select r.spec -> 'limits' as limits offset 0) s
      where r.status = 'QUEUED' and t.cancelled_at is null
   ), taken as (
     insert into headgate.lease
       (run_id, tenant_id, attempt_id, worker_id, fencing_token, lease_id, task_id, exclusive_task_id, exclusive_key,
        acquired_at, expires_at, renew_until, dispatch_no, ${DIMENSION_COLUMNS})
     select e.run_id, e.tenant_id, e.attempt_id, $8, nextval('headgate.fencing_token'), e.lease_id, e.task_id,
            case when e.exclusive_task then e.task_id end,
            case when e.concurrency_limit = 1 then e.concurrency_key end,
            clock_timestamp(),
            clock_timestamp() + least($11::bigint, e.most_ms) * interval '1 millisecond',
            clock_timestamp() + e.most_ms * interval '1 millisecond',
            e.dispatch_no,
            ${DIMENSION_COLUMNS.split(', ')
              .map((column) => `e.${column}`)
              .join(', ')}
       from eligible e
      order by case when e.concurrency_limit = 1 then e.concurrency_key end nulls last, e.task_id
     on conflict do nothing
     returning run_id, attempt_id, lease_id, fencing_token, acquired_at, expires_at
   ), claimed as (
     delete from headgate.queue_item q using taken where q.run_id = taken.run_id
   ), rivalled as (
     update headgate.queue_item q
        set state = 'ready', dispatched_at = null, hinted_at = null, verdict = 'CONCURRENCY_KEY_BUSY',
            verdict_at = clock_timestamp()
       from eligible e
      where q.run_id = e.run_id and not exists (select from taken where taken.run_id = e.run_id)
   )
   select ${RUN_COLUMNS}, ${LEASE_COLUMNS}
     from eligible e join headgate.run r on r.id = e.run_id left join taken l on l.run_id = e.run_id
    order by r.id`,
);

/** Takes what the worker may take; `busy` met a rival, and waits again. */
export async function takeLeases(
  c: Connection,
  request: ClaimRequest,
): Promise<{ readonly taken: readonly TakenRun[]; readonly busy: readonly RunId[] }> {
  const { hinted } = request;
  const rows = await c.run<RunAsClaimed & { [Column in keyof TakenLease]: TakenLease[Column] | null }>(take, [
    hinted.map((hint) => hint.runId),
    hinted.map((hint) => hint.dispatchNo),
    hinted.map((hint) => hint.judgedAgoMs),
    hinted.map((hint) => hint.attemptId),
    hinted.map((hint) => hint.leaseId),
    request.verdictMaxAgeMs,
    request.policyVersion,
    request.workerId,
    request.queueIds,
    request.limit,
    request.ttlMs,
  ]);
  const isTaken = (row: (typeof rows)[number]): row is TakenRun & (typeof rows)[number] =>
    row.leaseId !== null;
  return {
    taken: rows.filter(isTaken),
    busy: rows.filter((row) => !isTaken(row)).map((row) => row.runId),
  };
}
