/** schedule_tick and schedule_count: which bucket each nominal time fell into, and how many in all. */
import type { ReasonCode, ReceiptId, ScheduleId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

/** Whose nominal time it is. Each settles a time of its own once. */
export type TickOrigin = 'timer' | 'trigger' | 'backfill';

/**
 * - fired: handed to admission; the reason says what came of it. buffered: the same, and it waits for the one before.
 * - skipped: by the overlap rule. missed: nobody ticked, or its source could not be read.
 * - excluded: a day that is left out. paused, discarded: it passed during a pause, or before a change of the schedule.
 */
export type TickBucket = 'fired' | 'buffered' | 'skipped' | 'missed' | 'excluded' | 'paused' | 'discarded';

export interface TickRow {
  readonly scheduleId: ScheduleId;
  readonly origin: TickOrigin;
  readonly nominalAt: Date;
  /** Of a range, the last one; else the same. */
  readonly untilAt: Date;
  /** One of the schedule's targets; '' = all of them, or it has none. */
  readonly target: string;
  readonly tenantId: number;
  readonly count: number;
  readonly bucket: TickBucket;
  readonly reasonCode: ReasonCode;
  readonly receiptId: ReceiptId | null;
}

/** Of each schedule, whatever their age: those that are shown, and those that the state of its runs is read from. */
const NEWEST_TICKS_KEPT = 200;

// Under the schedule's row lock, so counts of one schedule never meet.
const record = statement(
  'schedule_tick.record',
  `with ticks as (
     insert into headgate.schedule_tick
       (schedule_id, origin, nominal_at, until_at, target, tenant_id, count, bucket, reason_code, receipt_id)
     select * from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::int[],
                          $7::int[], $8::text[], $9::text[], $10::uuid[])
     on conflict do nothing
     returning schedule_id, tenant_id, origin, bucket, count
   ), counted as (
     insert into headgate.schedule_count as n (schedule_id, tenant_id, origin, bucket, total)
     select schedule_id, tenant_id, origin, bucket, sum(count) from ticks group by 1, 2, 3, 4 order by 1, 3, 4
     on conflict (schedule_id, origin, bucket) do update set total = n.total + excluded.total
   )
   select count(*)::int as recorded from ticks`,
);
const doneTimes = statement(
  'schedule_tick.done_times',
  `select distinct nominal_at as "nominalAt" from headgate.schedule_tick
    where schedule_id = $1 and nominal_at between $2 and $3 and bucket in ('fired', 'buffered')
      and origin in ('timer', 'backfill')`,
);

// Oldest first, from the front of each schedule's key; not the newest, which describe it and lead to its runs. One that
// a person had made lately for a time of long ago stays as long as others. Its time is not run again: the timer has
// gone past it, and its total stands in schedule_count. Index: schedule_tick_pkey, twice for each schedule.
const forget = statement(
  'schedule_tick.forget',
  `with old as materialized (
     select k.place from headgate.schedule s
      cross join lateral (
        select n.nominal_at from headgate.schedule_tick n where n.schedule_id = s.id
         order by n.nominal_at desc offset ${NEWEST_TICKS_KEPT} limit 1) kept
      cross join lateral (
        select t.ctid as place from headgate.schedule_tick t
         where t.schedule_id = s.id and t.nominal_at <= kept.nominal_at
           and t.nominal_at < statement_timestamp() - $2 * interval '1 day'
           and t.created_at < statement_timestamp() - $2 * interval '1 day'
         order by t.nominal_at limit $1) k
      limit $1
   )
   delete from headgate.schedule_tick t using old where t.ctid = old.place`,
);

export const scheduleTicks = {
  /** How many rows were new: (schedule, nominal time, target, origin) is unique. */
  record: async (c: Connection, rows: readonly TickRow[]): Promise<number> => {
    if (rows.length === 0) return 0;
    const [answer] = await c.run<{ recorded: number }>(record, [
      rows.map((t) => t.scheduleId),
      rows.map((t) => t.origin),
      rows.map((t) => t.nominalAt),
      rows.map((t) => t.untilAt),
      rows.map((t) => t.target),
      rows.map((t) => t.tenantId),
      rows.map((t) => t.count),
      rows.map((t) => t.bucket),
      rows.map((t) => t.reasonCode),
      rows.map((t) => t.receiptId),
    ]);
    return answer?.recorded ?? 0;
  },
  /** At most so many that are older than the days given. */
  forget: (c: Connection, limit: number, days: number): Promise<number> => c.count(forget, [limit, days]),
  /** Nominal times in [from, until] that a back-fill leaves alone: the timer fired them, or an earlier one did. */
  doneTimes: async (c: Connection, id: ScheduleId, from: Date, until: Date): Promise<readonly Date[]> =>
    (await c.run<{ nominalAt: Date }>(doneTimes, [id, from, until])).map((row) => row.nominalAt),
};
