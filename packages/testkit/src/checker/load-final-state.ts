/**
 * Reads the tables the checker judges. In one snapshot, so that no half of a transaction is seen. Connect as
 * the owner or as headgate_service: row level security hides rows from others.
 */
import type { RunStatus } from '@headgate/domain';
import type { ClientBase } from 'pg';
import type {
  AttemptRow,
  DeliveryRow,
  FinalState,
  LeaseRow,
  OperationRow,
  QueueItemRow,
  ReceiptRow,
  RunEventRow,
  RunRow,
  Snapshot,
  TaskVersionRow,
  WorkerRow,
} from './model.js';

/** Milliseconds with microseconds behind the point; a double holds that until long after us. */
const ms = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;

/**
 * A run excludes others of its task unless it allows several versions at once, and others of its concurrency
 * key where the limit was 1 in the run's policy version.
 */
const RUNS = `
  select r.id, r.task_id as "taskId", r.receipt_id as "receiptId", r.generation,
         r.input_version as "inputVersion", t.work_key as "workKey", r.status, r.reason_code as "reasonCode",
         r.attempt_no as "attemptNo", r.failures_lease_lost as "failuresLeaseLost",
         ${ms('r.created_at')} as "createdAtMs", ${ms('r.started_at')} as "startedAtMs",
         ${ms('r.finished_at')} as "finishedAtMs", ${ms('r.cancel_requested_at')} as "cancelRequestedAtMs",
         array_remove(array[
           case when r.spec ->> 'onNewVersion' is distinct from 'allow'
                then 'task ' || r.task_id end,
           case when (route.value #>> '{concurrency,limit}')::integer = 1 and r.concurrency_key is not null
                then 'key ' || r.tenant_id || ' ' || r.concurrency_key end], null) as "exclusiveKeys"
    from headgate.run r
    join headgate.task t on t.id = r.task_id
    join headgate.tenant on tenant.id = r.tenant_id
    left join headgate.policy_version p on p.id = r.policy_version
    left join lateral (
      select value from jsonb_array_elements(p.policy -> 'routes')
       where value ->> 'id' = r.route and coalesce(value ->> 'tenant', tenant.key) = tenant.key
       limit 1) route on true
   order by r.id`;

const ATTEMPTS = `
  select id, run_id as "runId", number, worker_id as "workerId", lease_id as "leaseId",
         fencing_token::text as "fencingToken", status,
         ${ms('started_at')} as "startedAtMs", ${ms('finished_at')} as "finishedAtMs"
    from headgate.attempt order by run_id, number`;

const LEASES = `
  select run_id as "runId", attempt_id as "attemptId", lease_id as "leaseId",
         fencing_token::text as "fencingToken", ${ms('expires_at')} as "expiresAtMs"
    from headgate.lease order by run_id`;

const QUEUE_ITEMS = `
  select run_id as "runId", state, ${ms('visible_at')} as "visibleAtMs" from headgate.queue_item order by run_id`;

const runEvents = (order: string): string => `
  select id, xid::text as xid, run_id as "runId", ${ms('at')} as "atMs", type, from_status as "from",
         to_status as "to", reason_code as "reasonCode", attempt_no as "attemptNo",
         coalesce(fencing_token::text, data ->> 'fencingToken') as "fencingToken",
         coalesce(lease_id::text, data ->> 'leaseId') as "leaseId"
    from headgate.run_event order by ${order}`;

const RECEIPTS = `
  select id, kind, outcome, reason_code as "reasonCode", parent_receipt_id as "parentReceiptId", task_id as "taskId", run_id as "runId",
         generation, input_version as "inputVersion"
    from headgate.receipt order by id`;

const DELIVERIES = `
  select source_id as "sourceId", event_id as "eventId", receipt_id as "receiptId"
    from headgate.delivery order by source_id, event_id`;

const OPERATIONS = `
  select key, run_id as "runId", state, lease_id as "leaseId", external_id as "externalId",
         ${ms('intended_at')} as "intendedAtMs", ${ms('attempted_at')} as "attemptedAtMs"
    from headgate.operation order by id`;

const TASK_VERSIONS = `
  select task_id as "taskId", generation, input_version as "inputVersion", run_id as "runId", outcome
    from headgate.task_version order by task_id, generation, input_version`;

const WORKERS = 'select id, slots from headgate.worker order by id';

async function inSnapshot<T>(client: ClientBase, read: () => Promise<T>): Promise<T> {
  await client.query('begin isolation level repeatable read read only');
  try {
    const result = await read();
    await client.query('commit');
    return result;
  } catch (error) {
    // The first fault is the one to report; a connection that is gone cannot roll back.
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

/**
 * Everything at the end of a run. With `track_commit_timestamp = on` (a server setting) events come in the
 * order of their commits; without it only in the order of the transactions' numbers, which the checks allow for.
 */
export function loadFinalState(client: ClientBase): Promise<FinalState> {
  const rows = async <Row extends object>(text: string): Promise<readonly Row[]> =>
    (await client.query<Row>(text)).rows;
  return inSnapshot(client, async () => {
    const [clock] = await rows<{ nowAtMs: number; tracked: string }>(
      `select ${ms('clock_timestamp()')} as "nowAtMs", current_setting('track_commit_timestamp') as tracked`,
    );
    if (clock === undefined) throw new Error('The database gave no time.');
    const eventOrder = clock.tracked === 'on' ? 'commit' : 'xid';
    // By the column: a bare name would mean the text that is read, and there 1000 comes before 999.
    const order = `${eventOrder === 'commit' ? 'pg_xact_commit_timestamp(run_event.xid::xid), ' : ''}run_event.xid, id`;
    return {
      nowAtMs: clock.nowAtMs,
      runs: await rows<RunRow>(RUNS),
      attempts: await rows<AttemptRow>(ATTEMPTS),
      leases: await rows<LeaseRow>(LEASES),
      queueItems: await rows<QueueItemRow>(QUEUE_ITEMS),
      runEvents: await rows<RunEventRow>(runEvents(order)),
      eventOrder,
      receipts: await rows<ReceiptRow>(RECEIPTS),
      deliveries: await rows<DeliveryRow>(DELIVERIES),
      operations: await rows<OperationRow>(OPERATIONS),
      taskVersions: await rows<TaskVersionRow>(TASK_VERSIONS),
      workers: await rows<WorkerRow>(WORKERS),
    };
  });
}

interface PlacedRow {
  readonly runId: string;
  readonly status: RunStatus;
  readonly reasonCode: string | null;
  readonly hasLease: boolean;
  readonly item: 'delayed' | 'ready' | 'dispatched' | null;
  readonly atMs: number;
}

/** Where each run is now, for INV-ST5: one statement, hence one snapshot. Call it while the system works. */
export async function takeSnapshot(client: ClientBase): Promise<Snapshot> {
  const { rows } = await client.query<PlacedRow>(`
    select r.id as "runId", r.status, r.reason_code as "reasonCode", l.run_id is not null as "hasLease",
           q.state as item, ${ms('statement_timestamp()')} as "atMs"
      from headgate.run r
      left join headgate.lease l on l.run_id = r.id
      left join headgate.queue_item q on q.run_id = r.id
     order by r.id`);
  return { atMs: rows[0]?.atMs ?? 0, runs: rows.map(({ atMs: _atMs, ...run }) => run) };
}
