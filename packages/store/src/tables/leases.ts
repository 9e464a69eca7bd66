/**
 * lease: the right to act now. Hot.
 *
 * Every statement that extends or uses a lease locks its row first and compares with clock_timestamp() afterwards:
 * now() is frozen at the start of the transaction, and a time predicate is not checked again after a lock wait
 * (SQL rule 2). Renewal and intents need an unexpired lease; a finish needs the row to be there, and finisher or
 * reaper wins by that row's lock (SQL rule 5).
 */
import type { AttemptId, LeaseId, RunId, TaskId, WorkerId } from '@headgate/domain';
import { HISTORY_OPS } from '@headgate/telemetry';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';
import { type Fence, fenceArrays } from '../fence.js';
import { tell } from '../history.js';

export type LeaseControl = 'cancel' | 'supersede' | 'drain';

/** The answer of a heartbeat for one lease. */
export type BeatAnswer = 'renewed' | 'control' | 'busy' | 'expired' | 'lost';

/** Milliseconds with microseconds behind the point: a Date would cut them off, and a renewal just in time look late. */
const toMs = (instant: string): string => `(extract(epoch from ${instant}) * 1000)::float8`;

// One statement per worker and beat, whatever it holds; no indexed column changes, so every update is HOT.
// `busy`: another transaction holds the row right now; ask again in a second.
const beat = statement(
  'lease.beat',
  `with mine as (
     select * from unnest($1::uuid[], $2::bigint[], $3::uuid[]) as m(run_id, fencing_token, lease_id)
   ), standing as materialized (
     select m.run_id from mine m join headgate.lease l using (run_id, fencing_token, lease_id)
   ), held as materialized (
     select l.run_id, l.control, l.expires_at, clock_timestamp() as at from headgate.lease l join mine m using (run_id, fencing_token, lease_id)
      order by l.run_id for update of l skip locked
   ), renewed as (
     update headgate.lease l
        set expires_at = least(h.at + $4 * interval '1 millisecond', l.renew_until), renewed_at = h.at,
            renewals = l.renewals + 1
       from held h
      where l.run_id = h.run_id and h.expires_at > h.at
     returning l.run_id, l.control, l.expires_at
   ), alive as (
     update headgate.worker set heartbeat_at = clock_timestamp() where id = $5 and state in ('STARTING', 'READY', 'DRAINING')
     returning state
   )
   select m.run_id as "runId",
          case when r.run_id is not null then case when r.control is null then 'renewed' else 'control' end
               when s.run_id is null then 'lost'
               when h.run_id is null then 'busy'
               else 'expired' end as answer,
          coalesce(r.control, h.control) as control, ${toMs('h.at')} as "renewedAt",
          ${toMs('h.expires_at')} as "previousExpiresAt", ${toMs('r.expires_at')} as "expiresAt"
     from mine m
     left join renewed r on r.run_id = m.run_id
     left join held h on h.run_id = m.run_id
     left join standing s on s.run_id = m.run_id
   union all
   select null, coalesce((select state from alive), 'UNKNOWN'), null, null, null, null`,
);
// Two steps, or the clock is read before the wait: a select list is computed below the node that locks, and is
// computed again only if the row was changed meanwhile. `settled` reads the clock when the last row is locked.
const lockFenced = statement(
  'lease.lock_fenced',
  `with held as materialized (
     select l.* from headgate.lease l
       join unnest($1::uuid[], $2::bigint[], $3::uuid[]) as m(run_id, fencing_token, lease_id)
         using (run_id, fencing_token, lease_id)
      order by l.run_id for update of l
   ), settled as materialized (
     select count(*) as held, clock_timestamp() as at from held
   )
   select h.run_id as "runId", h.tenant_id as "tenantId", h.task_id as "taskId", h.attempt_id as "attemptId",
          h.control, h.lease_id as "leaseId", h.fencing_token::text as "fencingToken",
          h.expires_at > settled.at as current
     from settled join held h on settled.held > 0
    order by h.run_id`,
);
const lock = statement(
  'lease.lock',
  'select run_id as "runId", worker_id as "workerId", control from headgate.lease where run_id = any ($1::uuid[]) order by run_id for update',
);
// One table and no join: what is returned is the locked version, which the lock has compared with the clock again.
const lockExpired = statement(
  'lease.lock_expired',
  `select l.run_id as "runId", l.tenant_id as "tenantId", l.task_id as "taskId", l.attempt_id as "attemptId",
          l.worker_id as "workerId", l.lease_id as "leaseId", l.fencing_token::text as "fencingToken",
          l.renew_until <= l.expires_at as overlong, l.graced, l.control,
          ${toMs('l.expires_at')} as "expiredAtMs", ${toMs('clock_timestamp()')} as "takenAtMs"
     from headgate.lease l
    where l.expires_at <= clock_timestamp() and ($2::uuid[] is null or l.run_id = any ($2::uuid[]))
    order by l.run_id limit $1 for update skip locked`,
);
const expiredIds = statement(
  'lease.expired_ids',
  'select run_id as "runId" from headgate.lease where expires_at <= clock_timestamp() order by expires_at limit $1',
);
const counts = statement(
  'lease.counts',
  `select count(*)::int as live, (count(*) filter (where expires_at <= clock_timestamp()))::int as expired,
          (count(*) filter (where expires_at <= clock_timestamp() and not graced))::int as "expiredUngraced"
     from headgate.lease`,
);
// Not a renewal in the sense of INV-LE4: the holder cannot use it; it gives a stalled fleet one TTL to come back.
const grace = statement(
  'lease.grace',
  `with late as materialized (
     select run_id from headgate.lease
      where expires_at <= clock_timestamp() and not graced and expires_at < renew_until
      order by run_id for update skip locked
   ), graced as (
     update headgate.lease l
        set graced = true, expires_at = clock_timestamp() + $1 * interval '1 millisecond',
            renew_until = greatest(l.renew_until, clock_timestamp() + ($1 + 1000) * interval '1 millisecond')
       from late where l.run_id = late.run_id and l.expires_at <= clock_timestamp()
     returning l.run_id, l.tenant_id, l.task_id, l.fencing_token, l.lease_id, l.expires_at, clock_timestamp() as at
   ), told as (
     insert into headgate.run_event (id, tenant_id, run_id, task_id, type, reason_code, actor, fencing_token, lease_id)
     select headgate.uuid7(), tenant_id, run_id, task_id, 'lease.graced', 'MASS_EXPIRY', $2, fencing_token, lease_id from graced
   )
   select run_id as "runId", tenant_id as "tenantId", fencing_token::text as "fencingToken", lease_id as "leaseId",
          expires_at as "expiresAt", at as "reapedAt"
     from graced`,
);
const release = statement('lease.release', 'delete from headgate.lease where run_id = any ($1::uuid[])');
const control = statement(
  'lease.control',
  `update headgate.lease l set control = g.control from unnest($1::uuid[], $2::text[]) as g(run_id, control)
    where l.run_id = g.run_id and l.control is distinct from 'cancel'`,
);

export interface ExpiredLease {
  readonly runId: RunId;
  readonly tenantId: number;
  readonly taskId: TaskId;
  readonly attemptId: AttemptId;
  readonly workerId: WorkerId;
  readonly leaseId: LeaseId;
  readonly fencingToken: string;
  /** expires_at had reached renew_until: the attempt ran longer than it may. */
  readonly overlong: boolean;
  readonly graced: boolean;
  readonly control: LeaseControl | null;
  /** Database time. */
  readonly expiredAtMs: number;
  readonly takenAtMs: number;
}

/** An expired lease that was given time (MASS_EXPIRY). */
export interface GracedLease {
  readonly runId: RunId;
  readonly tenantId: number;
  readonly fencingToken: string;
  readonly leaseId: LeaseId;
  readonly expiresAt: Date;
  readonly reapedAt: Date;
}

export interface LockedLease {
  readonly runId: RunId;
  readonly tenantId: number;
  readonly taskId: TaskId;
  readonly attemptId: AttemptId;
  readonly leaseId: LeaseId;
  readonly fencingToken: string;
  readonly control: LeaseControl | null;
  /** false: the row still stands but its time is over; it may finish, but not renew nor intend. */
  readonly current: boolean;
}

interface LeaseBeat {
  readonly answer: BeatAnswer;
  readonly control: LeaseControl | null;
}

interface BeatRow {
  /** Null: the row that speaks of the worker. */
  readonly runId: RunId | null;
  readonly answer: string;
  readonly control: LeaseControl | null;
  readonly renewedAt: number | null;
  readonly previousExpiresAt: number | null;
  /** Null: not renewed. */
  readonly expiresAt: number | null;
}

export interface BeatResult {
  readonly leases: ReadonlyMap<RunId, LeaseBeat>;
  /** The worker's row after the beat; UNKNOWN = it is gone, stopped or declared dead: register again. */
  readonly workerState: string;
}

export const leases = {
  beat: async (
    c: Connection,
    fences: readonly Fence[],
    workerId: WorkerId,
    ttlMs: number,
  ): Promise<BeatResult> => {
    for (const fence of fences) tell.invoked(HISTORY_OPS.renew, fence);
    let rows: BeatRow[];
    try {
      rows = await c.run<BeatRow>(beat, [...fenceArrays(fences), ttlMs, workerId]);
    } catch (fault) {
      for (const fence of fences) tell.lost(HISTORY_OPS.renew, fence, fault);
      throw fault;
    }
    const answers = new Map<RunId, LeaseBeat>();
    let workerState = 'UNKNOWN';
    for (const row of rows) {
      if (row.runId === null) workerState = row.answer;
      else answers.set(row.runId, { answer: row.answer as BeatAnswer, control: row.control });
    }
    for (const fence of fences) {
      const row = rows.find(({ runId }) => runId === fence.runId);
      const { renewedAt = null, previousExpiresAt = null, expiresAt = null } = row ?? {};
      if (expiresAt !== null) {
        tell.took(HISTORY_OPS.renew, fence, { renewedAt, previousExpiresAt, expiresAt });
      } else tell.refused(HISTORY_OPS.renew, fence, { answer: row?.answer ?? 'lost' });
    }
    return { leases: answers, workerState };
  },
  /** The lease rows that match the fences, locked in run id order. Missing = lost. */
  lockFenced: (c: Connection, fences: readonly Fence[]): Promise<LockedLease[]> =>
    c.run<LockedLease>(lockFenced, fenceArrays(fences)),
  lock: (
    c: Connection,
    runIds: readonly RunId[],
  ): Promise<{ runId: RunId; workerId: WorkerId; control: LeaseControl | null }[]> => c.run(lock, [runIds]),
  /** @param only these runs; null = any. */
  lockExpired: (
    c: Connection,
    limit: number,
    only: readonly RunId[] | null = null,
  ): Promise<ExpiredLease[]> => c.run<ExpiredLease>(lockExpired, [limit, only]),
  /** Read without a lock, the longest expired first. */
  expiredIds: async (c: Connection, limit: number): Promise<RunId[]> =>
    (await c.run<{ runId: RunId }>(expiredIds, [limit])).map((row) => row.runId),
  counts: async (c: Connection): Promise<{ live: number; expired: number; expiredUngraced: number }> =>
    (await c.run<{ live: number; expired: number; expiredUngraced: number }>(counts))[0] ?? {
      live: 0,
      expired: 0,
      expiredUngraced: 0,
    },
  grace: (c: Connection, ttlMs: number, actor: string): Promise<GracedLease[]> =>
    c.run<GracedLease>(grace, [ttlMs, actor]),
  release: (c: Connection, runIds: readonly RunId[]): Promise<number> =>
    runIds.length === 0 ? Promise.resolve(0) : c.count(release, [runIds]),
  setControl: (c: Connection, rows: readonly { runId: RunId; control: LeaseControl }[]): Promise<number> =>
    rows.length === 0
      ? Promise.resolve(0)
      : c.count(control, [rows.map((row) => row.runId), rows.map((row) => row.control)]),
};
