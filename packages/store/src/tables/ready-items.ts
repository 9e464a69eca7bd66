/** Items that are ready: what a dispatch chooses from. Read by (queue, tenant), bounded, however much waits. */
import type { RunId, TaskId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';
import type { Dimensioned } from './queue-items.js';

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
   select queue_id as "queueId", tenant_id as "tenantId" from pair limit $1`,
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

export const readyItems = {
  /**
   * The heads of the named (queue, tenant) pairs, oldest rank first.
   * @param pairs `after`: only items ranked behind it (it resumes behind blocked heads), or null.
   */
  heads: (
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
  /** What has something ready, in (queue, tenant) order. @param limit read no further than so many. */
  pairs: (c: Connection, limit: number | null = null): Promise<ReadyPair[]> =>
    c.run<ReadyPair>(readyPairs, [limit]),
  /** Ready items per tenant, counted to one above `most`: a bounded read however full the queue is. */
  countOf: async (
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
