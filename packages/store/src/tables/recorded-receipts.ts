/** Receipts read back in the order in which they came, for deciding their signals again without writing anything. */
import type { Outcome, ReasonCode, ReceiptId, TriggerFamily, Via } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';
import { type Payload, payloads } from './receipts.js';

export interface RecordedReceipt {
  readonly id: ReceiptId;
  readonly tenant: string;
  readonly source: string;
  readonly eventId: string;
  readonly type: string;
  readonly trigger: TriggerFamily;
  readonly via: Via;
  readonly hookId: string | null;
  readonly route: string | null;
  readonly repository: string | null;
  /** Null: it was decided before there was work. */
  readonly workKey: string | null;
  readonly inputVersion: string | null;
  readonly outcome: Outcome;
  readonly reasonCode: ReasonCode;
  readonly rule: string;
  readonly emittedAt: Date | null;
  readonly receivedAt: Date;
  /** `kind:name`. */
  readonly actor: string | null;
  readonly payload: Payload | null;
}

// One for each signal as it came: promotions name a parent, and of several routes only one has the payload. A repeated
// delivery without its own is told by what its first receipt has. A look of a goal is no signal: it asks for no agent.
const page = statement(
  'receipt.recorded_page',
  `select r.id, t.key as tenant, r.source, r.event_id as "eventId", r.type, r.trigger, r.via, r.hook_id as "hookId",
          r.route, r.repository, r.work_key as "workKey", r.input_version as "inputVersion", r.outcome,
          r.reason_code as "reasonCode", r.rule, r.emitted_at as "emittedAt",
          r.received_at as "receivedAt", r.actor, p.receipt_id as "payloadOf"
     from headgate.receipt r
     join headgate.tenant t on t.id = r.tenant_id
     left join lateral (
       select k.receipt_id from headgate.payload k
        where k.receipt_id in (r.id, case when r.reason_code = 'DUPLICATE_DELIVERY' then r.parent_receipt_id end)
        order by k.receipt_id = r.id desc limit 1
     ) p on true
    where r.id > $1 and r.kind = 'decision' and r.created_at >= $2
      and (r.parent_receipt_id is null or r.reason_code = 'DUPLICATE_DELIVERY')
      and (r.trigger <> 'event' or p.receipt_id is not null) and r.type <> 'goal.observe'
    order by r.id limit $3`,
);
const lost = statement(
  'receipt.recorded_lost',
  `select count(distinct (r.source, r.event_id))::int as lost
     from headgate.receipt r
    where r.kind = 'decision' and r.created_at >= $1 and r.trigger = 'event' and r.parent_receipt_id is null
      and not exists (select 1 from headgate.payload p join headgate.receipt x on x.id = p.receipt_id
                       where x.event_id = r.event_id and x.source = r.source)`,
);
const estimates = statement(
  'run.estimates',
  `select r.route, percentile_cont(0.5) within group (order by extract(epoch from r.finished_at - r.started_at))::float8
            as "medianSeconds",
          avg(r.cost_usd) filter (where exists (select 1 from headgate.usage u where u.run_id = r.id and u.cost_source <> 'none'))::float8
            as "averageUsd"
     from headgate.run r where r.finished_at is not null and r.started_at is not null and r.created_at >= $1
    group by r.route`,
);

type PageRow = Omit<RecordedReceipt, 'payload'> & { readonly payloadOf: ReceiptId | null };

const FIRST = '00000000-0000-0000-0000-000000000000' as ReceiptId;
const PAGE = 200;

export interface RouteEstimate {
  readonly route: string;
  readonly medianSeconds: number;
  /** Null: none of its runs told a cost. */
  readonly averageUsd: number | null;
}

export const recordedReceipts = {
  /** All since `since`, oldest first, one page in memory at a time. */
  read: async function* (c: Connection, since: Date): AsyncGenerator<RecordedReceipt> {
    for (let after = FIRST; ; ) {
      const rows = await c.run<PageRow>(page, [after, since, PAGE]);
      for (const { payloadOf, ...row } of rows) {
        yield { ...row, payload: payloadOf === null ? null : await payloads.read(c, payloadOf) };
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return;
      after = last.id;
    }
  },
  /** Deliveries whose payload is no longer kept. */
  lost: async (c: Connection, since: Date): Promise<number> =>
    (await c.run<{ lost: number }>(lost, [since]))[0]?.lost ?? 0,
  /** How long the runs of each route took, and what they cost. */
  estimates: (c: Connection, since: Date): Promise<RouteEstimate[]> =>
    c.run<RouteEstimate>(estimates, [since]),
};
