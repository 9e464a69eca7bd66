/** delivery: which deliveries were received, for as long as dedupe is promised (I8). */
import type { FirstDelivery, ReceiptId, RunId, TaskId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface DeliveryRow {
  readonly sourceId: string;
  readonly eventId: string;
  readonly tenantId: number;
  readonly receiptId: ReceiptId;
  readonly dedupeWindowMs: number;
}

// In (source, event id) order, so that two batches wait for each other in one direction. A remembered delivery
// whose window has passed is replaced: the row is then returned as new.
const remember = statement(
  'delivery.remember',
  `insert into headgate.delivery as d (source_id, event_id, tenant_id, receipt_id, expires_at)
   select g.source_id, g.event_id, g.tenant_id, g.receipt_id, clock_timestamp() + g.window_ms * interval '1 millisecond'
     from unnest($1::text[], $2::text[], $3::int[], $4::uuid[], $5::bigint[])
          as g(source_id, event_id, tenant_id, receipt_id, window_ms)
    order by g.source_id, g.event_id
   on conflict (source_id, event_id) do update
      set receipt_id = excluded.receipt_id, tenant_id = excluded.tenant_id, expires_at = excluded.expires_at
    where d.expires_at <= clock_timestamp()
   returning source_id as "sourceId", event_id as "eventId"`,
);
// A second statement: only a new snapshot sees what another transaction inserted meanwhile (SQL rule 3).
const first = statement(
  'delivery.first',
  `select d.source_id as "sourceId", d.event_id as "eventId", d.receipt_id as "receiptId",
          r.run_id as "runId", r.task_id as "taskId"
     from unnest($1::text[], $2::text[]) as g(source_id, event_id)
     join headgate.delivery d on d.source_id = g.source_id and d.event_id = g.event_id
     left join headgate.receipt r on r.id = d.receipt_id`,
);
// A hook's log names events by GUID; the hooks of a source are those whose deliveries were received lately.
const received = statement(
  'delivery.received',
  `with hooks as materialized (
     select distinct r.hook_id from headgate.receipt r
      where r.tenant_id = $1 and r.source = $2 and r.via = 'webhook' and r.hook_id is not null
        and r.id >= headgate.uuid7_floor(now() - interval '4 days'))
   select distinct asked.guid
     from unnest($3::text[]) as asked(guid)
     cross join (select hook_id || '/' as prefix from hooks union all select '') h
     join headgate.delivery d on d.source_id = $2 and d.event_id = h.prefix || asked.guid`,
);
const standIn = statement(
  'delivery.stand_in',
  `update headgate.delivery d set receipt_id = g.receipt_id
     from unnest($1::text[], $2::text[], $3::uuid[]) as g(source_id, event_id, receipt_id)
    where d.source_id = g.source_id and d.event_id = g.event_id`,
);
// Rows in use are passed over: a wait here, in another order, could deadlock with one in the order of keys.
// Index: delivery_expiry.
const forget = statement(
  'delivery.forget_expired',
  `with expired as materialized (
     select ctid from headgate.delivery where expires_at < statement_timestamp()
      order by expires_at limit $1 for update skip locked
   )
   delete from headgate.delivery d where d.ctid = any (array (select ctid from expired))`,
);

export const deliveries = {
  /** Which of these GUIDs were received all the same: answered too late, or not heard. */
  received: async (
    c: Connection,
    tenantId: number,
    sourceId: string,
    guids: readonly string[],
  ): Promise<ReadonlySet<string>> => {
    const rows = await c.run<{ guid: string }>(received, [tenantId, sourceId, guids]);
    return new Set(rows.map((row) => row.guid));
  },
  /** Keys that were new: each `source\0event`. The batch must hold no key twice (SQL rule 3). */
  remember: async (c: Connection, rows: readonly DeliveryRow[]): Promise<ReadonlySet<string>> => {
    if (rows.length === 0) return new Set();
    const fresh = await c.run<{ sourceId: string; eventId: string }>(remember, [
      rows.map((row) => row.sourceId),
      rows.map((row) => row.eventId),
      rows.map((row) => row.tenantId),
      rows.map((row) => row.receiptId),
      rows.map((row) => row.dedupeWindowMs),
    ]);
    return new Set(fresh.map((row) => `${row.sourceId}\u0000${row.eventId}`));
  },
  /** What the first delivery of each key led to. */
  first: async (
    c: Connection,
    keys: readonly { sourceId: string; eventId: string }[],
  ): Promise<ReadonlyMap<string, FirstDelivery>> => {
    if (keys.length === 0) return new Map();
    const rows = await c.run<{
      sourceId: string;
      eventId: string;
      receiptId: ReceiptId;
      runId: RunId | null;
      taskId: TaskId | null;
    }>(first, [keys.map((key) => key.sourceId), keys.map((key) => key.eventId)]);
    return new Map(
      rows.map(({ sourceId, eventId, ...delivery }) => [`${sourceId}\u0000${eventId}`, delivery]),
    );
  },
  /** Another receipt of the same delivery is the one to answer repeats with. The rows are this transaction's own. */
  standIn: async (
    c: Connection,
    rows: readonly { sourceId: string; eventId: string; receiptId: ReceiptId }[],
  ): Promise<number> =>
    rows.length === 0
      ? 0
      : c.count(standIn, [
          rows.map((row) => row.sourceId),
          rows.map((row) => row.eventId),
          rows.map((row) => row.receiptId),
        ]),
  forgetExpired: (c: Connection, limit: number): Promise<number> => c.count(forget, [limit]),
};
