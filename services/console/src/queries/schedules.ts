import {
  formatId,
  formatIdOrNull,
  nextTicks,
  type ReasonCode,
  type ReceiptId,
  type ScheduleId,
} from '@headgate/domain';
import type { Page, Schedule, ScheduleTick } from '@headgate/sdk';
import { type Connection, databaseNow, type ScheduleSpec } from '@headgate/store';
import { sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { plainPageQuery } from '../schemas/index.js';
import { instantOf, instantOrNull } from './instants.js';
import { pageOf } from './page.js';
import { list, rows } from './read.js';

interface ScheduleRow {
  readonly id: ScheduleId;
  readonly tenant: string;
  readonly route: string;
  readonly ordinal: number;
  readonly spec: ScheduleSpec;
  readonly state: Schedule['state'];
  readonly note: string | null;
  readonly anchorAt: Date;
  readonly lastNominalAt: Date | null;
  readonly nextAt: Date | null;
}

interface TickRow {
  readonly scheduleId: ScheduleId;
  readonly nominalAt: Date;
  readonly untilAt: Date;
  readonly count: number;
  readonly target: string;
  readonly bucket: ScheduleTick['bucket'];
  readonly reasonCode: ReasonCode;
  readonly receiptId: ReceiptId | null;
}

const SHOWN_TICKS = 10;

/** Those of the active policy, each with its recent and its next ticks. */
export async function schedulePageOf(
  c: Connection,
  query: z.infer<typeof plainPageQuery>,
): Promise<Page<Schedule>> {
  const { ids, nextCursor } = await pageOf<ScheduleId>(c, {
    from: sql`headgate.schedule x`,
    within: [sql`x.state <> 'removed'`],
    filters: [],
    columns: [],
    limit: query.limit,
    cursor: query.cursor,
  });
  if (ids.length === 0) return { items: [], nextCursor };
  const now = await databaseNow(c);
  const found = await rows<ScheduleRow>(
    c,
    sql`select s.id, t.key as tenant, s.route, s.ordinal, s.spec, s.state, s.note, s.anchor_at as "anchorAt",
               s.last_nominal_at as "lastNominalAt", s.next_at as "nextAt"
          from headgate.schedule s join headgate.tenant t on t.id = s.tenant_id
         where s.id = any (${list(ids, 'uuid')}) order by s.id desc`,
  );
  const ticks = await recentTicks(c, ids);
  return {
    nextCursor,
    items: found.map(({ spec, anchorAt, ...row }) => ({
      ...row,
      id: formatId('sch', row.id),
      cron: spec.cron,
      timezone: spec.timezone,
      jitterMs: spec.jitterMs,
      overlap: spec.overlap,
      catchUp: { ...spec.catchUp },
      lastNominalAt: instantOrNull(row.lastNominalAt),
      nextAt: instantOrNull(row.nextAt),
      recent: ticks.filter((tick) => tick.scheduleId === row.id).map(tickOf),
      next: nextTicks(spec.cron, {
        timezone: spec.timezone,
        after: now,
        count: SHOWN_TICKS,
        anchor: anchorAt,
      }).map(instantOf),
    })),
  };
}

const recentTicks = (c: Connection, ids: readonly ScheduleId[]): Promise<TickRow[]> =>
  rows<TickRow>(
    c,
    sql`select s.id as "scheduleId", tick.nominal_at as "nominalAt", tick.until_at as "untilAt", tick.count,
               tick.target, tick.bucket, tick.reason_code as "reasonCode", tick.receipt_id as "receiptId"
          from unnest(${list(ids, 'uuid')}) as s(id)
          cross join lateral (
            select * from headgate.schedule_tick k where k.schedule_id = s.id
             order by k.nominal_at desc, k.target limit ${SHOWN_TICKS}) tick
         order by s.id, tick.nominal_at desc, tick.target`,
  );

const tickOf = (row: TickRow): ScheduleTick => ({
  nominalAt: instantOf(row.nominalAt),
  untilAt: instantOf(row.untilAt),
  count: row.count,
  target: row.target,
  bucket: row.bucket,
  reasonCode: row.reasonCode,
  receiptId: formatIdOrNull('rcpt', row.receiptId),
});
