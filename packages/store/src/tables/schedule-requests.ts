/** schedule_request: a person's "run now" or back-fill, asked for at the console and done by a ticker. */
import type { OverlapPolicy, ScheduleId, ScheduleRequestId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface ScheduleRequest {
  readonly id: ScheduleRequestId;
  readonly scheduleId: ScheduleId;
  readonly tenantId: number;
  readonly kind: 'trigger' | 'backfill';
  /** Instead of the schedule's own rule. */
  readonly overlap: OverlapPolicy | null;
  readonly fromAt: Date;
  readonly untilAt: Date;
  /** Nominal times up to this one are done. */
  readonly cursorAt: Date | null;
  readonly reason: string | null;
  readonly requestedBy: string;
}

const columns = `q.id, q.schedule_id as "scheduleId", q.tenant_id as "tenantId", q.kind, q.overlap, q.from_at as "fromAt",
  q.until_at as "untilAt", q.cursor_at as "cursorAt", q.reason, q.requested_by as "requestedBy"`;

const insert = statement(
  'schedule_request.insert',
  `insert into headgate.schedule_request
     (id, schedule_id, tenant_id, kind, overlap, from_at, until_at, reason, requested_by)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (id) do nothing`,
);
// Index: schedule_request_pending.
const pending = statement(
  'schedule_request.pending',
  `select ${columns} from headgate.schedule_request q where q.state = 'pending' order by q.id limit $1`,
);
// After the schedule's row, whose lock keeps other tickers out.
const lock = statement(
  'schedule_request.lock',
  `select ${columns} from headgate.schedule_request q where q.id = $1 and q.state = 'pending' for update`,
);
const proceed = statement(
  'schedule_request.proceed',
  `update headgate.schedule_request set cursor_at = $2, ticks = ticks + $3, state = $4, detail = $5,
          finished_at = case when $4 <> 'pending' then clock_timestamp() end
    where id = $1`,
);

export interface Progress {
  readonly cursorAt: Date | null;
  /** Ticks that were settled by this step. */
  readonly ticks: number;
  readonly state: 'pending' | 'done' | 'refused';
  readonly detail: string | null;
}

// By the time in their ids. Index: schedule_request_pkey.
const forget = statement(
  'schedule_request.forget',
  `with old as materialized (
     select q.id from headgate.schedule_request q
      where q.id < headgate.uuid7_floor(statement_timestamp() - $2 * interval '1 day') and q.state <> 'pending'
      order by q.id limit $1
   )
   delete from headgate.schedule_request q using old where q.id = old.id`,
);

export const scheduleRequests = {
  /** At most so many that were done, and asked for longer ago than the days given. */
  forget: (c: Connection, limit: number, days: number): Promise<number> => c.count(forget, [limit, days]),
  insert: (c: Connection, q: Omit<ScheduleRequest, 'cursorAt'>): Promise<number> =>
    c.count(insert, [
      q.id,
      q.scheduleId,
      q.tenantId,
      q.kind,
      q.overlap,
      q.fromAt,
      q.untilAt,
      q.reason,
      q.requestedBy,
    ]),
  /** Oldest first; nothing is locked. */
  pending: (c: Connection, limit: number): Promise<ScheduleRequest[]> =>
    c.run<ScheduleRequest>(pending, [limit]),
  /** Null: another ticker has done it. */
  lock: async (c: Connection, id: ScheduleRequestId): Promise<ScheduleRequest | null> =>
    (await c.run<ScheduleRequest>(lock, [id]))[0] ?? null,
  proceed: (c: Connection, id: ScheduleRequestId, p: Progress): Promise<number> =>
    c.count(proceed, [id, p.cursorAt, p.ticks, p.state, p.detail]),
};
