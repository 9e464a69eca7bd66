import type { ServiceContext } from '@headgate/service';
import type { Connection } from '@headgate/store';
import { sql } from 'drizzle-orm';
import type { Caller } from '../auth/index.js';
import { queueAnswers, receiptPageOf, rows, runPageOf, type WaitingReader } from '../queries/index.js';
import type { HomeFacts } from './home.js';

const SHOWN = 20;

export async function homeFacts(
  context: ServiceContext,
  caller: Caller,
  c: Connection,
  waiting: WaitingReader,
): Promise<HomeFacts> {
  const { items: runs } = await runPageOf(c, waiting, { limit: SHOWN });
  const { items: receipts } = await receiptPageOf(c, { limit: SHOWN, kind: 'decision' });
  const { items: queues } = await queueAnswers(context, caller, c);
  const sum = (of: (queue: (typeof queues)[number]) => number): number =>
    queues.reduce((total, queue) => total + of(queue), 0);
  const oldest = queues.flatMap((queue) => queue.oldestReadyAt ?? []).sort();
  return {
    runs,
    receipts,
    running: sum((queue) => queue.running),
    ready: sum((queue) => queue.ready + queue.dispatched),
    delayed: sum((queue) => queue.delayed),
    liveWorkers: await liveWorkers(c),
    oldestReadyAt: oldest[0] ?? null,
    spentTodayUsd: await spentToday(c),
  };
}

/** A worker of several queues counts once. */
async function liveWorkers(c: Connection): Promise<number> {
  const [row] = await rows<{ live: number }>(
    c,
    sql`select count(*)::int as live from headgate.worker
         where state = 'READY' and heartbeat_at > clock_timestamp() - lease_ttl_ms * interval '1 millisecond'`,
  );
  return row?.live ?? 0;
}

/** Each tenant's day is its own zone's. */
async function spentToday(c: Connection): Promise<number> {
  const [row] = await rows<{ usd: number }>(
    c,
    sql`select coalesce(sum(d.settled_usd), 0) as usd
          from headgate.tenant_day d join headgate.tenant t on t.id = d.tenant_id
         where d.day = (clock_timestamp() at time zone t.timezone)::date`,
  );
  return row?.usd ?? 0;
}
