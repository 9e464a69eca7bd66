/** Schedules as the API shows them: their contract, what became of their times, and the next ones. */
import {
  formatId,
  formatIdOrNull,
  nextTicks,
  type OverlapPolicy,
  type ReasonCode,
  type ReceiptId,
  type RunId,
  type ScheduleId,
  type ScheduleRequestId,
  type ScheduleSpec,
} from '@headgate/domain';
import type {
  Page,
  Schedule,
  ScheduleCount,
  ScheduleDetail,
  ScheduleRequest,
  ScheduleTick,
} from '@headgate/sdk';
import { type Connection, databaseNow } from '@headgate/store';
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
  readonly pausedAt: Date | null;
  readonly pausedBy: string | null;
  readonly anchorAt: Date;
  readonly lastNominalAt: Date | null;
  readonly nextAt: Date | null;
}

interface TickRow {
  readonly scheduleId: ScheduleId;
  readonly origin: ScheduleTick['origin'];
  readonly nominalAt: Date;
  readonly untilAt: Date;
  readonly count: number;
  readonly target: string;
  readonly bucket: ScheduleTick['bucket'];
  readonly reasonCode: ReasonCode;
  readonly receiptId: ReceiptId | null;
  readonly runId: RunId | null;
}

interface RequestRow {
  readonly id: ScheduleRequestId;
  readonly scheduleId: ScheduleId;
  readonly kind: ScheduleRequest['kind'];
  readonly overlap: OverlapPolicy | null;
  readonly fromAt: Date;
  readonly untilAt: Date;
  readonly state: ScheduleRequest['state'];
  readonly detail: string | null;
  readonly ticks: number;
  readonly reason: string | null;
  readonly requestedBy: string;
  readonly requestedAt: Date;
  readonly finishedAt: Date | null;
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
  return { nextCursor, items: await schedulesOf(c, ids) };
}

/** Null: it is not there, or no longer in the configuration. */
export async function scheduleDetail(c: Connection, id: ScheduleId): Promise<ScheduleDetail | null> {
  const [schedule] = await schedulesOf(c, [id]);
  if (schedule === undefined) return null;
  const [running, requests] = [await runningOf(c, id), await requestsOf(c, id)];
  return { ...schedule, running, requests };
}

export async function scheduleRequest(
  c: Connection,
  id: ScheduleId,
  requestId: ScheduleRequestId,
): Promise<ScheduleRequest | null> {
  const [found] = await requestRows(c, sql`q.schedule_id = ${id}::uuid and q.id = ${requestId}::uuid`, 1);
  return found === undefined ? null : requestOf(found);
}

async function schedulesOf(c: Connection, ids: readonly ScheduleId[]): Promise<Schedule[]> {
  if (ids.length === 0) return [];
  const now = await databaseNow(c);
  const found = await rows<ScheduleRow>(
    c,
    sql`select s.id, t.key as tenant, s.route, s.ordinal, s.spec, s.state, s.note, s.anchor_at as "anchorAt",
               s.last_nominal_at as "lastNominalAt", s.next_at as "nextAt", s.paused_at as "pausedAt",
               s.paused_by as "pausedBy"
          from headgate.schedule s join headgate.tenant t on t.id = s.tenant_id
         where s.id = any (${list(ids, 'uuid')}) and s.state <> 'removed' order by s.id desc`,
  );
  const ticks = await recentTicks(c, ids);
  const counts = await countsOf(c, ids);
  return found.map(({ spec, anchorAt, ...row }) => ({
    ...row,
    id: formatId('sch', row.id),
    cron: spec.cron,
    timezone: spec.timezone,
    startAt: spec.startAt,
    endAt: spec.endAt,
    exclude: [...spec.exclude],
    jitterMs: spec.jitterMs,
    overlap: spec.overlap,
    catchUp: { ...spec.catchUp },
    pauseOnFailure: spec.pauseOnFailure,
    pausedAt: instantOrNull(row.pausedAt),
    lastNominalAt: instantOrNull(row.lastNominalAt),
    nextAt: row.state === 'paused' ? null : instantOrNull(row.nextAt),
    recent: ticks.filter((tick) => tick.scheduleId === row.id).map(tickOf),
    next: nextTicks({ times: spec, anchor: anchorAt }, now, SHOWN_TICKS).map(instantOf),
    counts: counts
      .filter((count) => count.scheduleId === row.id)
      .map(({ origin, bucket, total }) => ({ origin, bucket, total: Number(total) })),
  }));
}

const countsOf = (
  c: Connection,
  ids: readonly ScheduleId[],
): Promise<({ readonly scheduleId: ScheduleId } & ScheduleCount)[]> =>
  rows(
    c,
    sql`select schedule_id as "scheduleId", origin, bucket, total from headgate.schedule_count
         where schedule_id = any (${list(ids, 'uuid')}) order by schedule_id, origin, bucket`,
  );

const recentTicks = (c: Connection, ids: readonly ScheduleId[]): Promise<TickRow[]> =>
  rows<TickRow>(
    c,
    sql`select s.id as "scheduleId", tick.origin, tick.nominal_at as "nominalAt", tick.until_at as "untilAt",
               tick.count, tick.target, tick.bucket, tick.reason_code as "reasonCode",
               tick.receipt_id as "receiptId", r.run_id as "runId"
          from unnest(${list(ids, 'uuid')}) as s(id)
          cross join lateral (
            select * from headgate.schedule_tick k where k.schedule_id = s.id
             order by k.nominal_at desc, k.target, k.origin limit ${SHOWN_TICKS}) tick
          left join headgate.receipt r on r.id = tick.receipt_id
         order by s.id, tick.nominal_at desc, tick.target, tick.origin`,
  );

const tickOf = (row: TickRow): ScheduleTick => ({
  origin: row.origin,
  nominalAt: instantOf(row.nominalAt),
  untilAt: instantOf(row.untilAt),
  count: row.count,
  target: row.target,
  bucket: row.bucket,
  reasonCode: row.reasonCode,
  receiptId: formatIdOrNull('rcpt', row.receiptId),
  runId: formatIdOrNull('run', row.runId),
});

/** Runs that its newest ticks led to and that have not ended. */
const runningOf = async (c: Connection, id: ScheduleId): Promise<string[]> =>
  (
    await rows<{ id: RunId }>(
      c,
      sql`select distinct run.id
            from (select receipt_id from headgate.schedule_tick
                   where schedule_id = ${id}::uuid and bucket in ('fired', 'buffered') and receipt_id is not null
                   order by nominal_at desc limit 200) tick
            join headgate.receipt r on r.id = tick.receipt_id
            join headgate.run run on run.id = r.run_id
            join headgate.task_version v on v.run_id = run.id and v.outcome is null
           order by run.id`,
    )
  ).map((run) => formatId('run', run.id));

const requestsOf = async (c: Connection, id: ScheduleId): Promise<ScheduleRequest[]> =>
  (await requestRows(c, sql`q.schedule_id = ${id}::uuid`, SHOWN_TICKS)).map(requestOf);

const requestRows = (c: Connection, where: ReturnType<typeof sql>, limit: number): Promise<RequestRow[]> =>
  rows<RequestRow>(
    c,
    sql`select q.id, q.schedule_id as "scheduleId", q.kind, q.overlap, q.from_at as "fromAt",
               q.until_at as "untilAt", q.state, q.detail, q.ticks, q.reason, q.requested_by as "requestedBy",
               q.requested_at as "requestedAt", q.finished_at as "finishedAt"
          from headgate.schedule_request q where ${where} order by q.id desc limit ${limit}`,
  );

const requestOf = (row: RequestRow): ScheduleRequest => ({
  ...row,
  id: formatId('sreq', row.id),
  scheduleId: formatId('sch', row.scheduleId),
  fromAt: instantOf(row.fromAt),
  untilAt: instantOf(row.untilAt),
  requestedAt: instantOf(row.requestedAt),
  finishedAt: instantOrNull(row.finishedAt),
});
