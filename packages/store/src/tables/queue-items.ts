/**
 * queue_item: the right to be dispatched, while waiting. Hot.
 *
 * Who writes: admission inserts; dispatch marks and takes back; the worker writes its verdict under
 * (run id, dispatch number); a claim deletes; finish and reaper insert again for a retry; cancel and supersede
 * delete. All lock the item before the lease and the run.
 */
import type { ReasonCode, RunId, TaskId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { type Column, rowInsert } from '../connection/rows.js';
import { statement } from '../connection/statement.js';

export type ItemState = 'delayed' | 'ready' | 'dispatched';

/** Every dimension that is counted. Item and lease carry the same. */
export interface Dimensioned {
  readonly organisationId: number | null;
  readonly repositoryId: number | null;
  readonly userId: number | null;
  readonly taskTypeId: number;
  readonly risk: number;
  readonly queueId: number;
  readonly agentId: number;
  readonly providerId: number | null;
  readonly sandboxId: number | null;
  /** 16 bytes, or null. */
  readonly concurrencyKey: Buffer | null;
  readonly concurrencyLimit: number | null;
  readonly tokensPerMinute: number;
  readonly reservedUsd: number;
}

export interface NewQueueItem extends Dimensioned {
  readonly runId: RunId;
  readonly tenantId: number;
  readonly taskId: TaskId;
  readonly exclusiveTask: boolean;
  readonly headStartSeconds: number;
  readonly timeToLiveMs: number | null;
}

export const DIMENSION_COLUMNS =
  'organisation_id, repository_id, user_id, task_type_id, risk, queue_id, agent_id, provider_id, sandbox_id, concurrency_key, concurrency_limit, tokens_per_minute, reserved_usd';

/** What an item says of its run, the same however it came to be. */
export const ITEM_COLUMNS: readonly Column<NewQueueItem>[] = [
  { name: 'task_id', type: 'uuid', value: (i) => i.taskId },
  { name: 'exclusive_task', type: 'boolean', value: (i) => i.exclusiveTask },
  { name: 'organisation_id', type: 'int', value: (i) => i.organisationId },
  { name: 'repository_id', type: 'int', value: (i) => i.repositoryId },
  { name: 'user_id', type: 'int', value: (i) => i.userId },
  { name: 'task_type_id', type: 'int', value: (i) => i.taskTypeId },
  { name: 'risk', type: 'smallint', value: (i) => i.risk },
  { name: 'queue_id', type: 'int', value: (i) => i.queueId },
  { name: 'agent_id', type: 'int', value: (i) => i.agentId },
  { name: 'provider_id', type: 'int', value: (i) => i.providerId },
  { name: 'sandbox_id', type: 'int', value: (i) => i.sandboxId },
  { name: 'concurrency_key', type: 'bytea', value: (i) => i.concurrencyKey },
  { name: 'concurrency_limit', type: 'int', value: (i) => i.concurrencyLimit },
  { name: 'tokens_per_minute', type: 'int', value: (i) => i.tokensPerMinute },
  { name: 'reserved_usd', type: 'numeric', value: (i) => i.reservedUsd },
];

const insert = rowInsert<NewQueueItem>('queue_item.insert', 'queue_item', [
  { name: 'run_id', type: 'uuid', value: (i) => i.runId },
  { name: 'tenant_id', type: 'int', value: (i) => i.tenantId },
  { name: 'state', type: 'text', cast: 'headgate.item_state', value: () => 'ready' },
  { name: 'visible_at', type: 'int', expression: 'clock_timestamp()', value: () => 0 },
  {
    name: 'expires_at',
    type: 'bigint',
    expression: "clock_timestamp() + u.expires_at * interval '1 millisecond'",
    value: (i) => i.timeToLiveMs,
  },
  {
    name: 'rank_at',
    type: 'int',
    // Whole milliseconds: a cursor is read into a Date and compared again.
    expression: "date_trunc('milliseconds', clock_timestamp()) - u.rank_at * interval '1 second'",
    value: (i) => i.headStartSeconds,
  },
  { name: 'enqueued_at', type: 'int', expression: 'clock_timestamp()', value: () => 0 },
  ...ITEM_COLUMNS,
]);

const lock = statement(
  'queue_item.lock',
  'select run_id as "runId", state, dispatch_no as "dispatchNo" from headgate.queue_item where run_id = any ($1::uuid[]) order by run_id for update',
);
const remove = statement(
  'queue_item.remove',
  'delete from headgate.queue_item where run_id = any ($1::uuid[])',
);
// Defers one dispatched item uncharged: the source is unreachable, capacity is out.
const delay = statement(
  'queue_item.delay',
  `update headgate.queue_item q
      set state = 'delayed', waits = 'capacity', visible_at = clock_timestamp() + g.delay_ms * interval '1 millisecond',
          dispatched_at = null, hinted_at = null, verdict = g.reason, verdict_at = clock_timestamp()
     from unnest($1::uuid[], $2::int[], $3::bigint[], $4::text[]) as g(run_id, dispatch_no, delay_ms, reason)
    where q.run_id = g.run_id and q.dispatch_no = g.dispatch_no and q.state = 'dispatched'
   returning q.run_id as "runId"`,
);
// A retry keeps its first enqueued_at and its rank; the time to live ended with the first claim.
const requeue = statement(
  'queue_item.requeue',
  `insert into headgate.queue_item
     (run_id, tenant_id, state, waits, visible_at, rank_at, enqueued_at, dispatch_no, task_id, exclusive_task, ${DIMENSION_COLUMNS})
   select l.run_id, l.tenant_id,
          case when g.delay_ms > 0 then 'delayed'::headgate.item_state else 'ready'::headgate.item_state end,
          case when g.delay_ms > 0 then 'backoff'::headgate.item_wait end,
          clock_timestamp() + g.delay_ms * interval '1 millisecond',
          date_trunc('milliseconds', r.created_at) - r.priority * interval '1 second', r.created_at, l.dispatch_no, l.task_id,
          l.exclusive_task_id is not null, ${DIMENSION_COLUMNS.split(', ')
            .map((column) => `l.${column}`)
            .join(', ')}
     from unnest($1::uuid[], $2::bigint[]) as g(run_id, delay_ms)
     join headgate.lease l on l.run_id = g.run_id
     join headgate.run r on r.id = g.run_id`,
);
export const queueItems = {
  insert: insert.insert,
  /** Locked in run id order. */
  lock: (
    c: Connection,
    runIds: readonly RunId[],
  ): Promise<{ runId: RunId; state: ItemState; dispatchNo: number }[]> => c.run(lock, [runIds]),
  remove: (c: Connection, runIds: readonly RunId[]): Promise<number> =>
    runIds.length === 0 ? Promise.resolve(0) : c.count(remove, [runIds]),
  delay: async (
    c: Connection,
    rows: readonly { runId: RunId; dispatchNo: number; delayMs: number; reasonCode: ReasonCode }[],
  ): Promise<ReadonlySet<RunId>> =>
    new Set(
      (
        await c.run<{ runId: RunId }>(delay, [
          rows.map((row) => row.runId),
          rows.map((row) => row.dispatchNo),
          rows.map((row) => row.delayMs),
          rows.map((row) => row.reasonCode),
        ])
      ).map((row) => row.runId),
    ),
  /** Makes the items of runs that still hold their lease rows, for a retry. `delayMs` 0 = ready now. */
  requeue: (c: Connection, rows: readonly { runId: RunId; delayMs: number }[]): Promise<number> =>
    rows.length === 0
      ? Promise.resolve(0)
      : c.count(requeue, [rows.map((row) => row.runId), rows.map((row) => row.delayMs)]),
};
