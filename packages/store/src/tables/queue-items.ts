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

export interface ReadyItem extends Dimensioned {
  readonly runId: RunId;
  readonly tenantId: number;
  readonly taskId: TaskId;
  readonly exclusiveTask: boolean;
  readonly rankAt: Date;
  readonly enqueuedAt: Date;
}

export interface ReadyHead extends ReadyItem {
  /** The read of its pair was cut off here; the item may be one of a busy key. What is ranked behind was not looked at. */
  readonly isEndOfRead: boolean;
}

/** How many items of one pair a read looks through for its heads, busy keys among them. */
const LOOKED_THROUGH = 2_000;

const itemColumns = `q.run_id as "runId", q.tenant_id as "tenantId", q.task_id as "taskId",
  q.exclusive_task as "exclusiveTask", q.rank_at as "rankAt", q.enqueued_at as "enqueuedAt",
  q.organisation_id as "organisationId", q.repository_id as "repositoryId", q.user_id as "userId",
  q.task_type_id as "taskTypeId", q.risk, q.queue_id as "queueId", q.agent_id as "agentId",
  q.provider_id as "providerId", q.sandbox_id as "sandboxId", q.concurrency_key as "concurrencyKey",
  q.concurrency_limit as "concurrencyLimit", q.tokens_per_minute as "tokensPerMinute", q.reserved_usd as "reservedUsd"`;

// Heads per (queue, tenant), busy keys filtered on the index tuple, then the heap rows of the few that are left.
// Index: queue_item_ready, one descent per pair. Cost: bounded per pair by $3 heads and by the items looked through for
// them, however much waits behind; a read that was cut off ends with the item it came to, so that the next goes on there.
const readyHeads = statement(
  'queue_item.ready_heads',
  `select ${itemColumns}, head.is_end as "isEndOfRead"
     from unnest($1::int[], $2::int[], $5::timestamptz[], $6::uuid[])
            as pair(queue_id, tenant_id, after_rank, after_run)
     cross join lateral (
       select stretch.run_id, stretch.nth = ${LOOKED_THROUGH} as is_end
         from (select i.run_id, i.rank_at, i.concurrency_key, row_number() over (order by i.rank_at, i.run_id) as nth
                 from headgate.queue_item i
                where i.state = 'ready' and i.queue_id = pair.queue_id and i.tenant_id = pair.tenant_id
                  and (i.rank_at, i.run_id) > (pair.after_rank, pair.after_run)
                order by i.rank_at, i.run_id limit ${LOOKED_THROUGH}) stretch
        where stretch.concurrency_key is null or stretch.concurrency_key <> all ($4::bytea[])
           or stretch.nth = ${LOOKED_THROUGH}
        order by stretch.rank_at, stretch.run_id limit $3) head
     join headgate.queue_item q on q.run_id = head.run_id and q.state = 'ready'
    order by q.rank_at, q.run_id`,
);
// A loose index scan over (queue, tenant): one descent per pair that has something ready, not one row per item.
const readyPairs = statement(
  'queue_item.ready_pairs',
  `with recursive pair as (
     (select queue_id, tenant_id from headgate.queue_item where state = 'ready' order by queue_id, tenant_id limit 1)
     union all
     select n.queue_id, n.tenant_id from pair p
       cross join lateral (
         select queue_id, tenant_id from headgate.queue_item
          where state = 'ready' and (queue_id, tenant_id) > (p.queue_id, p.tenant_id)
          order by queue_id, tenant_id limit 1) n
   )
   select queue_id as "queueId", tenant_id as "tenantId" from pair`,
);
const markDispatched = statement(
  'queue_item.mark_dispatched',
  `with chosen as materialized (
     select run_id from headgate.queue_item where run_id = any ($1::uuid[]) and state = 'ready'
      order by run_id for update skip locked
   )
   update headgate.queue_item q
      set state = 'dispatched', dispatch_no = q.dispatch_no + 1, dispatched_at = clock_timestamp(),
          hinted_at = clock_timestamp(), verdict = null, verdict_at = null
     from chosen
    where q.run_id = chosen.run_id
   returning q.run_id as "runId", q.dispatch_no as "dispatchNo", q.queue_id as "queueId", q.tenant_id as "tenantId",
             (select r.traceparent from headgate.run r where r.id = q.run_id) as traceparent`,
);
// What time alone brings about. Each asks `statement_timestamp()`, which an index can be searched by, where
// `clock_timestamp()` is a filter: all that is due later would be read for what is due now. And each update names its
// rows by an array: to a join with a limit that the planner does not know, it prefers a scan of the whole table.
// Hints that nobody answered. Index: queue_item_dispatched.
const dueHints = statement(
  'queue_item.due_hints',
  `with due as materialized (
     select run_id from headgate.queue_item
      where state = 'dispatched' and dispatched_at < statement_timestamp() - $1 * interval '1 millisecond'
        and hinted_at < statement_timestamp() - $1 * interval '1 millisecond'
      order by dispatched_at, run_id limit $2 for update skip locked
   )
   update headgate.queue_item q set hinted_at = clock_timestamp()
    where q.run_id = any (array (select run_id from due))
   returning q.run_id as "runId", q.dispatch_no as "dispatchNo", q.queue_id as "queueId", q.tenant_id as "tenantId",
             (select r.traceparent from headgate.run r where r.id = q.run_id) as traceparent`,
);
const takeBack = statement(
  'queue_item.take_back',
  `with late as materialized (
     select run_id from headgate.queue_item
      where state = 'dispatched' and dispatched_at < statement_timestamp() - $1 * interval '1 millisecond'
      order by dispatched_at, run_id limit $2 for update skip locked
   ), back as (
     update headgate.queue_item q
        set state = 'ready', dispatched_at = null, hinted_at = null, verdict = null, verdict_at = null
      where q.run_id = any (array (select run_id from late))
     returning q.run_id, q.tenant_id, q.task_id, q.dispatch_no
   ), told as (
     insert into headgate.run_event (id, tenant_id, run_id, task_id, type, reason_code, actor, data)
     select headgate.uuid7(), tenant_id, run_id, task_id, 'item.taken_back', 'DISPATCH_EXPIRED', $3,
            jsonb_build_object('dispatchNo', dispatch_no)
       from back
   )
   select run_id as "runId" from back`,
);
const undispatchAll = statement(
  'queue_item.undispatch_all',
  `with dispatched as materialized (
     select run_id from headgate.queue_item where state = 'dispatched' order by run_id for update
   ), back as (
     update headgate.queue_item q
        set state = 'ready', dispatched_at = null, hinted_at = null, verdict = null, verdict_at = null
       from dispatched d where q.run_id = d.run_id
     returning q.run_id, q.tenant_id, q.task_id, q.dispatch_no
   )
   insert into headgate.run_event (id, tenant_id, run_id, task_id, type, reason_code, actor, data)
   select headgate.uuid7(), tenant_id, run_id, task_id, 'item.taken_back', 'READY', $1,
          jsonb_build_object('dispatchNo', dispatch_no, 'policyVersion', $2::int)
     from back`,
);
const dueDelayed = statement(
  'queue_item.promote_due',
  `with due as materialized (
     select run_id from headgate.queue_item where state = 'delayed' and visible_at <= statement_timestamp()
      order by visible_at, run_id limit $1 for update skip locked
   )
   update headgate.queue_item q set state = 'ready', waits = null
    where q.run_id = any (array (select run_id from due))
   returning q.run_id as "runId", q.tenant_id as "tenantId", q.queue_id as "queueId"`,
);
const lockExpired = statement(
  'queue_item.lock_expired',
  `select run_id as "runId" from headgate.queue_item
    where expires_at is not null and expires_at <= statement_timestamp()
    order by expires_at, run_id limit $1 for update skip locked`,
);
const lock = statement(
  'queue_item.lock',
  'select run_id as "runId", state, dispatch_no as "dispatchNo" from headgate.queue_item where run_id = any ($1::uuid[]) order by run_id for update',
);
const remove = statement(
  'queue_item.remove',
  'delete from headgate.queue_item where run_id = any ($1::uuid[])',
);
// Locked in run id order: several workers judge the same items at once.
const writeVerdict = statement(
  'queue_item.write_verdict',
  `with mine as materialized (
     select q.run_id, g.verdict
       from headgate.queue_item q join unnest($1::uuid[], $2::int[], $3::text[]) as g(run_id, dispatch_no, verdict)
         on q.run_id = g.run_id and q.dispatch_no = g.dispatch_no
      where q.state = 'dispatched'
      order by q.run_id for update of q
   )
   update headgate.queue_item q set verdict = m.verdict, verdict_at = clock_timestamp()
     from mine m where q.run_id = m.run_id
   returning q.run_id as "runId"`,
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
const backToReady = statement(
  'queue_item.back_to_ready',
  `update headgate.queue_item q
      set state = 'ready', dispatched_at = null, hinted_at = null, verdict = $2, verdict_at = clock_timestamp()
    where q.run_id = any ($1::uuid[]) and q.state = 'dispatched'`,
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
const queuedOf = statement(
  'queue_item.count_ready_of_tenant',
  `select pair.tenant_id as "tenantId", sum(n.waiting)::int as waiting
     from unnest($1::int[], $2::int[]) as pair(tenant_id, most)
     cross join unnest($3::int[]) as queue(id)
     cross join lateral (
       select count(*) as waiting from (
         select 1 from headgate.queue_item i
          where i.state = 'ready' and i.queue_id = queue.id and i.tenant_id = pair.tenant_id limit pair.most + 1) few) n
    group by pair.tenant_id`,
);

export interface DispatchedItem {
  readonly runId: RunId;
  readonly dispatchNo: number;
  readonly queueId: number;
  readonly tenantId: number;
  readonly traceparent: string | null;
}

export interface ReadyPair {
  readonly queueId: number;
  readonly tenantId: number;
}

/** Where a bounded read of heads stopped: the last item seen. Run ids break ties of rank. */
export interface ReadyCursor {
  readonly rankAt: Date;
  readonly runId: RunId;
}

const FIRST: ReadyCursor = { rankAt: new Date(0), runId: '00000000-0000-0000-0000-000000000000' as RunId };

export const queueItems = {
  insert: insert.insert,
  /**
   * The heads of the named (queue, tenant) pairs, oldest rank first.
   * @param pairs `after`: only items ranked behind it (it resumes behind blocked heads), or null.
   */
  readyHeads: (
    c: Connection,
    pairs: readonly (ReadyPair & { readonly after: ReadyCursor | null })[],
    perPair: number,
    busyKeys: readonly Buffer[],
  ): Promise<ReadyHead[]> =>
    c.run<ReadyHead>(readyHeads, [
      pairs.map((pair) => pair.queueId),
      pairs.map((pair) => pair.tenantId),
      perPair,
      busyKeys,
      pairs.map((pair) => (pair.after ?? FIRST).rankAt),
      pairs.map((pair) => (pair.after ?? FIRST).runId),
    ]),
  readyPairs: (c: Connection): Promise<ReadyPair[]> => c.run<ReadyPair>(readyPairs),
  markDispatched: (c: Connection, runIds: readonly RunId[]): Promise<DispatchedItem[]> =>
    c.run<DispatchedItem>(markDispatched, [runIds]),
  /** Dispatched items whose hint is older than `olderThanMs`; marks them hinted again. */
  dueHints: (c: Connection, olderThanMs: number, limit: number): Promise<DispatchedItem[]> =>
    c.run<DispatchedItem>(dueHints, [olderThanMs, limit]),
  takeBack: (c: Connection, olderThanMs: number, limit: number, actor: string): Promise<{ runId: RunId }[]> =>
    c.run(takeBack, [olderThanMs, limit, actor]),
  /** Every dispatched item, back to ready: what was chosen under the limits of another policy is chosen anew. */
  undispatchAll: (c: Connection, actor: string, policyVersion: number): Promise<number> =>
    c.count(undispatchAll, [actor, policyVersion]),
  promoteDue: (c: Connection, limit: number): Promise<(ReadyPair & { runId: RunId })[]> =>
    c.run(dueDelayed, [limit]),
  lockExpired: (c: Connection, limit: number): Promise<{ runId: RunId }[]> => c.run(lockExpired, [limit]),
  /** Locked in run id order. */
  lock: (
    c: Connection,
    runIds: readonly RunId[],
  ): Promise<{ runId: RunId; state: ItemState; dispatchNo: number }[]> => c.run(lock, [runIds]),
  remove: (c: Connection, runIds: readonly RunId[]): Promise<number> =>
    runIds.length === 0 ? Promise.resolve(0) : c.count(remove, [runIds]),
  /** Fence: (run id, dispatch number). Returns the ids whose item still was that dispatch. */
  writeVerdicts: async (
    c: Connection,
    rows: readonly { runId: RunId; dispatchNo: number; verdict: string }[],
  ): Promise<ReadonlySet<RunId>> =>
    new Set(
      (
        await c.run<{ runId: RunId }>(writeVerdict, [
          rows.map((row) => row.runId),
          rows.map((row) => row.dispatchNo),
          rows.map((row) => row.verdict),
        ])
      ).map((row) => row.runId),
    ),
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
  backToReady: (c: Connection, runIds: readonly RunId[], reasonCode: ReasonCode): Promise<number> =>
    runIds.length === 0 ? Promise.resolve(0) : c.count(backToReady, [runIds, reasonCode]),
  /** Makes the items of runs that still hold their lease rows, for a retry. `delayMs` 0 = ready now. */
  requeue: (c: Connection, rows: readonly { runId: RunId; delayMs: number }[]): Promise<number> =>
    rows.length === 0
      ? Promise.resolve(0)
      : c.count(requeue, [rows.map((row) => row.runId), rows.map((row) => row.delayMs)]),
  /** Ready items per tenant, counted to one above `most`: a bounded read however full the queue is. */
  countReadyOf: async (
    c: Connection,
    limits: readonly { tenantId: number; most: number }[],
    queueIds: readonly number[],
  ): Promise<ReadonlyMap<number, number>> => {
    if (limits.length === 0) return new Map();
    const rows = await c.run<{ tenantId: number; waiting: number }>(queuedOf, [
      limits.map((limit) => limit.tenantId),
      limits.map((limit) => limit.most),
      queueIds,
    ]);
    return new Map(rows.map((row) => [row.tenantId, row.waiting]));
  },
};
