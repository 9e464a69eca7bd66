/**
 * What changes a schedule besides its ticks: pause, resume, a person's request, and a specification that is new.
 *
 * Who may write: the console in a person's name, the ticker (pause on failure), whoever syncs the policy. All take the
 * schedule's row lock first, as a tick does, so each nominal time is settled by exactly one of them. Times that pass
 * during a pause are counted when it ends, those that an old specification had not settled when it changes; a crash
 * before COMMIT leaves them unsettled.
 */
import {
  type OverlapPolicy,
  type ReasonCode,
  type ScheduleId,
  type ScheduleRequestId,
  type TickRange,
  ticksIn,
} from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { runEvents } from '../tables/run-events.js';
import { scheduleRequests } from '../tables/schedule-requests.js';
import { scheduleTicks, type TickBucket } from '../tables/schedule-ticks.js';
import { type ScheduleRow, schedules } from '../tables/schedules.js';

export interface ControlOptions {
  readonly actor: string;
  /** Tenants the caller may touch; absent for the services' own role. */
  readonly tenants?: readonly number[];
}

export type Controlled = 'done' | 'already' | 'unknown';

export const pauseSchedule = (
  pool: Pool,
  id: ScheduleId,
  { actor, note, ...scope }: ControlOptions & { readonly note: string | null },
): Promise<Controlled> =>
  pool.transaction(async (c) => {
    const row = await schedules.lockById(c, id);
    if (row === null) return 'unknown';
    if (row.state === 'paused') return 'already';
    await pauseLocked(c, row, actor, note, null);
    return 'done';
  }, scope);

/** As `pauseSchedule`, for a row whose lock is held. */
export async function pauseLocked(
  c: Connection,
  row: ScheduleRow,
  actor: string,
  note: string | null,
  reasonCode: ReasonCode | null,
): Promise<void> {
  await schedules.pause(c, row.id, actor, note);
  await tell(c, row, 'schedule.paused', actor, reasonCode, { note });
}

export const resumeSchedule = (
  pool: Pool,
  id: ScheduleId,
  { actor, ...scope }: ControlOptions,
): Promise<Controlled> =>
  pool.transaction(async (c) => {
    const row = await schedules.lockById(c, id);
    if (row === null) return 'unknown';
    if (row.state !== 'paused') return 'already';
    await settleUntilNow(c, row, 'paused');
    await schedules.resume(c, id, row.now);
    await tell(c, row, 'schedule.resumed', actor, null, {});
    return 'done';
  }, scope);

export interface AskedRequest {
  readonly id: ScheduleRequestId;
  readonly kind: 'trigger' | 'backfill';
  readonly overlap: OverlapPolicy | null;
  /** Null: now, by the database. */
  readonly span: { readonly from: Date; readonly until: Date } | null;
  readonly reason: string | null;
}

/** Null: no such schedule (or not the caller's). A ticker does what was asked. */
export const requestTicks = (
  pool: Pool,
  scheduleId: ScheduleId,
  asked: AskedRequest,
  { actor, ...scope }: ControlOptions,
): Promise<ScheduleRequestId | null> =>
  pool.transaction(async (c) => {
    const row = await schedules.lockById(c, scheduleId);
    if (row === null) return null;
    const { span, ...rest } = asked;
    const { from: fromAt, until: untilAt } = span ?? { from: row.now, until: row.now };
    const { tenantId } = row;
    await scheduleRequests.insert(c, { ...rest, scheduleId, tenantId, fromAt, untilAt, requestedBy: actor });
    const event = asked.kind === 'trigger' ? 'schedule.triggered' : 'schedule.backfilled';
    await tell(c, row, event, actor, null, { reason: asked.reason, overlap: asked.overlap, fromAt, untilAt });
    return asked.id;
  }, scope);

const REASON = {
  paused: 'PAUSED',
  discarded: 'SCHEDULE_CHANGED',
} as const satisfies Partial<Record<TickBucket, ReasonCode>>;

/** Puts every nominal time that is not settled yet into one bucket. The row is locked by the caller. */
export async function settleUntilNow(
  c: Connection,
  row: ScheduleRow,
  bucket: 'paused' | 'discarded',
): Promise<void> {
  const after = row.lastNominalAt ?? row.anchorAt;
  if (row.now <= after) return;
  const { kept, excluded } = ticksIn({ times: row.spec, anchor: row.anchorAt }, { after, until: row.now });
  await scheduleTicks.record(c, [
    ...rangeRow(row, kept, bucket, REASON[bucket]),
    ...rangeRow(row, excluded, 'excluded', 'SCHEDULE_EXCLUDED'),
  ]);
  await schedules.settle(c, row.id, row.now);
}

const rangeRow = (
  { id, tenantId }: ScheduleRow,
  range: TickRange | null,
  bucket: TickBucket,
  reasonCode: ReasonCode,
) =>
  range === null
    ? []
    : [
        {
          scheduleId: id,
          origin: 'timer' as const,
          nominalAt: range.from,
          untilAt: range.to,
          target: '',
          tenantId,
          count: range.count,
          bucket,
          reasonCode,
          receiptId: null,
        },
      ];

const tell = (
  c: Connection,
  { id, tenantId, route }: ScheduleRow,
  type: string,
  actor: string,
  reasonCode: ReasonCode | null,
  data: object,
): Promise<number> =>
  runEvents.append(c, [
    {
      tenantId,
      runId: null,
      taskId: null,
      type,
      reasonCode,
      actor,
      data: { scheduleId: id, route, ...data },
    },
  ]);
