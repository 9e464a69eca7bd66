/** The figures at the head of the runs page, and what runs can be filtered by. */
import type { ReasonCode, RunId } from '@headgate/domain';
import type { Facets, Overview } from '@headgate/sdk';
import type { ServiceContext } from '@headgate/service';
import { type Connection, databaseNow } from '@headgate/store';
import { sql } from 'drizzle-orm';
import type { Caller } from '../auth/index.js';
import { instantOf, instantOrNull } from './instants.js';
import { rows } from './read.js';
import { countAll, ITEM_COLUMNS, type ItemRow, reasonOf, type WaitingRun } from './waiting.js';

export async function overviewOf(context: ServiceContext, c: Connection): Promise<Overview> {
  const now = await databaseNow(c);
  const figures = await figuresOf(c);
  const first = await firstInLine(c);
  const input = { ...(await countAll(context)), now: now.getTime() };
  const counts = new Map<ReasonCode, number>();
  for (const one of first) {
    const { reasonCode } = reasonOf(one.run, one.item, input);
    counts.set(reasonCode, (counts.get(reasonCode) ?? 0) + 1);
  }
  // They stand in no line and take nobody's place, and wait all the same.
  if (figures.asked > 0) counts.set('APPROVAL_REQUIRED', figures.asked);
  const reasons = [...counts].map(([reasonCode, count]) => ({ reasonCode, count }));
  const eligible = counts.get('READY') ?? 0;
  return {
    at: instantOf(now),
    running: figures.running,
    slots: figures.slots,
    liveWorkers: figures.liveWorkers,
    waiting: {
      total: figures.waiting + figures.asked,
      eligible,
      notEligible: first.length + figures.asked - eligible,
      reasons: reasons.sort((a, b) => b.count - a.count),
      counted: first.length + figures.asked,
    },
    oldestReadyAt: instantOrNull(figures.oldestReadyAt),
    spentTodayUsd: figures.spentTodayUsd,
    dayLimitUsd: context.policy.currentOrNull()?.policy.budgets.perDayUsd ?? null,
  };
}

interface Figures {
  readonly running: number;
  readonly slots: number;
  readonly liveWorkers: number;
  /** In the queue. */
  readonly waiting: number;
  /** Of people. */
  readonly asked: number;
  readonly oldestReadyAt: Date | null;
  readonly spentTodayUsd: number;
}

// Each tenant's day is its own zone's. Open requests: index approval_open.
async function figuresOf(c: Connection): Promise<Figures> {
  const [row] = await rows<Figures>(
    c,
    sql`select (select count(*)::int from headgate.lease) as running, w.slots, w.live as "liveWorkers",
               (select count(*)::int from headgate.approval where outcome is null) as asked,
               q.waiting, q."oldestReadyAt", d.usd as "spentTodayUsd"
          from (select count(*)::int as live, coalesce(sum(slots), 0)::int as slots from headgate.worker
                 where state = 'READY'
                   and heartbeat_at > clock_timestamp() - lease_ttl_ms * interval '1 millisecond') w
          cross join (
            select count(*)::int as waiting, min(enqueued_at) filter (where state = 'ready') as "oldestReadyAt"
              from headgate.queue_item) q
          cross join (
            select coalesce(sum(d.settled_usd), 0) as usd
              from headgate.tenant_day d join headgate.tenant t on t.id = d.tenant_id
             where d.day = (clock_timestamp() at time zone t.timezone)::date) d`,
  );
  if (row === undefined) throw new Error('the database gave no figures');
  return row;
}

/** Of how many waiting runs the reasons are counted, of those that are due and of those that are not. */
const COUNTED = 500;

type FirstRow = Omit<ItemRow, 'ahead'> & Pick<WaitingRun, 'status' | 'statusAt' | 'reasonCode'>;

async function firstInLine(c: Connection): Promise<{ run: WaitingRun; item: ItemRow }[]> {
  const found = await rows<FirstRow>(
    c,
    sql`select ${ITEM_COLUMNS}, r.status, r.status_at as "statusAt", r.reason_code as "reasonCode", r.reason_detail as detail
          from ((select * from headgate.queue_item where state <> 'delayed' order by rank_at limit ${COUNTED})
                union all
                (select * from headgate.queue_item where state = 'delayed' order by visible_at limit ${COUNTED})) q
          join headgate.run r on r.id = q.run_id`,
  );
  return found.map((row) => ({
    run: { id: row.runId as RunId, status: row.status, statusAt: row.statusAt, reasonCode: row.reasonCode },
    item: { ...row, ahead: 0 },
  }));
}

/** Names in one list at most. */
const MAX_NAMES = 500;

export async function facetsOf(context: ServiceContext, caller: Caller, c: Connection): Promise<Facets> {
  const active = context.policy.currentOrNull();
  const routes = (active?.policy.routes ?? []).filter(({ tenant }) => {
    const id = active?.tenantIds.get(tenant);
    return id !== undefined && caller.tenants.includes(id);
  });
  const tenants = await rows<{ key: string }>(
    c,
    sql`select key from headgate.tenant order by key limit ${MAX_NAMES}`,
  );
  const repositories = await rows<{ name: string }>(
    c,
    sql`select distinct full_name as name from headgate.repository order by 1 limit ${MAX_NAMES}`,
  );
  return {
    tenants: tenants.map((row) => row.key),
    routes: routes.map((route) => route.id).sort(),
    repositories: repositories.map((row) => row.name),
  };
}

/** Of a caller that is bound to one tenant, that tenant’s key. */
export async function tenantKey(c: Connection): Promise<string | null> {
  const [row] = await rows<{ key: string }>(c, sql`select key from headgate.tenant limit 1`);
  return row?.key ?? null;
}
