import type { Page, Queue } from '@headgate/sdk';
import type { ServiceContext } from '@headgate/service';
import type { Connection } from '@headgate/store';
import { sql } from 'drizzle-orm';
import type { Caller } from '../auth/index.js';
import { instantOrNull } from './instants.js';
import { list, rows } from './read.js';

interface QueueRow {
  readonly key: string;
  readonly ready: number;
  readonly delayed: number;
  readonly dispatched: number;
  readonly running: number;
  readonly oldestReadyAt: Date | null;
  readonly liveWorkers: number;
  readonly slots: number;
}

/** Every queue of the active policy, in its order. Few enough for one page. */
export async function queueAnswers(
  context: ServiceContext,
  caller: Caller,
  c: Connection,
): Promise<Page<Queue>> {
  const queues = context.policy.currentOrNull()?.policy.queues ?? [];
  const counted = new Map(
    (
      await countsOf(
        c,
        queues.map((queue) => queue.id),
      )
    ).map((row) => [row.key, row]),
  );
  const items = await Promise.all(
    queues.map(async (queue): Promise<Queue> => {
      const row = counted.get(queue.id);
      return {
        id: queue.id,
        risk: [...queue.risk],
        ready: row?.ready ?? 0,
        delayed: row?.delayed ?? 0,
        dispatched: row?.dispatched ?? 0,
        running: row?.running ?? 0,
        oldestReadyAt: instantOrNull(row?.oldestReadyAt ?? null),
        liveWorkers: row?.liveWorkers ?? 0,
        slots: row?.slots ?? 0,
        // Hints of all tenants lie in one queue of Redis.
        hints: caller.tenantId === null ? await hintsOf(context, queue.id) : null,
      };
    }),
  );
  return { items, nextCursor: null };
}

async function hintsOf(context: ServiceContext, queue: string): Promise<Queue['hints']> {
  const answer = await context.bus.counts(queue);
  return answer.ok ? answer.value : null;
}

const countsOf = (c: Connection, keys: readonly string[]): Promise<QueueRow[]> =>
  rows<QueueRow>(
    c,
    sql`select d.key, coalesce(i.ready, 0) as ready, coalesce(i.delayed, 0) as delayed,
               coalesce(i.dispatched, 0) as dispatched, coalesce(l.running, 0) as running, i."oldestReadyAt",
               coalesce(w.live, 0) as "liveWorkers", coalesce(w.slots, 0) as slots
          from headgate.dimension d
          left join (
            select queue_id, count(*) filter (where state = 'ready')::int as ready,
                   count(*) filter (where state = 'delayed')::int as delayed,
                   count(*) filter (where state = 'dispatched')::int as dispatched,
                   min(enqueued_at) filter (where state = 'ready') as "oldestReadyAt"
              from headgate.queue_item group by queue_id) i on i.queue_id = d.id
          left join (select queue_id, count(*)::int as running from headgate.lease group by queue_id) l
            on l.queue_id = d.id
          left join lateral (
            select count(*)::int as live, sum(k.slots)::int as slots from headgate.worker k
             where k.state = 'READY' and d.id = any (k.queue_ids)
               and k.heartbeat_at > clock_timestamp() - k.lease_ttl_ms * interval '1 millisecond') w on true
         where d.tenant_id = 0 and d.kind = 'queue' and d.key = any (${list(keys, 'text')})`,
  );
