/** schedule: when a route wakes by itself. What became of its times is in `schedule-ticks.ts`. */
import type { RunId, ScheduleId, ScheduleSpec } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface ScheduleRow {
  readonly id: ScheduleId;
  readonly tenantId: number;
  readonly route: string;
  readonly ordinal: number;
  readonly spec: ScheduleSpec;
  readonly state: 'active' | 'paused' | 'removed';
  readonly note: string | null;
  /** Where `@every` counts from. */
  readonly anchorAt: Date;
  readonly lastNominalAt: Date | null;
  readonly nextAt: Date | null;
  /** Failures before this do not pause it again. */
  readonly resumedAt: Date;
  /** Database time, read after the lock. */
  readonly now: Date;
}

const columns = `s.id, s.tenant_id as "tenantId", s.route, s.ordinal, s.spec, s.state, s.note, s.anchor_at as "anchorAt",
  s.last_nominal_at as "lastNominalAt", s.next_at as "nextAt",
  s.resumed_at as "resumedAt", clock_timestamp() as now`;

// A changed specification starts anew from now: earlier unprocessed times are dropped, not fired late.
const ensure = statement(
  'schedule.ensure',
  `insert into headgate.schedule as s (id, tenant_id, route, ordinal, spec, policy_version, next_at)
   values ($1, $2, $3, $4, $5, $6, $7)
   on conflict (tenant_id, route, ordinal) do update
      set spec = excluded.spec, policy_version = excluded.policy_version,
          state = case when s.state = 'removed' then 'active' else s.state end,
          -- Not before what is settled: a clock that was set back must not bring the same times again.
          anchor_at = greatest(clock_timestamp(), s.last_nominal_at), last_nominal_at = null,
          next_at = excluded.next_at
    where s.spec <> excluded.spec or s.state = 'removed'`,
);
const retire = statement(
  'schedule.retire',
  `update headgate.schedule set state = 'removed', next_at = null
    where state <> 'removed' and not (id = any (
      select k.id from headgate.schedule k
        join unnest($1::int[], $2::text[], $3::int[]) as keep(tenant_id, route, ordinal)
          on k.tenant_id = keep.tenant_id and k.route = keep.route and k.ordinal = keep.ordinal))`,
);
const all = statement(
  'schedule.all',
  `select ${columns} from headgate.schedule s where s.state <> 'removed' order by s.id`,
);
// Index: schedule_due.
const soonest = statement(
  'schedule.soonest',
  `select ${columns} from headgate.schedule s
    where s.state = 'active' and s.next_at is not null order by s.next_at, s.id limit $1`,
);
// One table and no join: a second look at the row would see the version before another ticker's commit, and the
// same nominal times would be decided twice.
const lockDue = statement(
  'schedule.lock_due',
  `select ${columns} from headgate.schedule s
    where s.id = $1 and s.state = 'active' and s.next_at <= clock_timestamp() for update skip locked`,
);
const advance = statement(
  'schedule.advance',
  'update headgate.schedule set last_nominal_at = coalesce($2, last_nominal_at), next_at = $3 where id = $1',
);
const lockNamed = statement(
  'schedule.lock_named',
  `select ${columns} from headgate.schedule s
    where s.tenant_id = $1 and s.route = $2 and s.ordinal = $3 for update`,
);
const lockOthers = statement(
  'schedule.lock_others',
  `select ${columns} from headgate.schedule s
    where s.state <> 'removed' and not exists (
      select 1 from unnest($1::int[], $2::text[], $3::int[]) as keep(tenant_id, route, ordinal)
       where s.tenant_id = keep.tenant_id and s.route = keep.route and s.ordinal = keep.ordinal)
    order by s.tenant_id, s.route, s.ordinal for update`,
);
const lockById = statement(
  'schedule.lock_by_id',
  `select ${columns} from headgate.schedule s where s.id = $1 and s.state <> 'removed' for update`,
);
const find = statement(
  'schedule.find',
  `select ${columns} from headgate.schedule s where s.id = $1 and s.state <> 'removed'`,
);
const pause = statement(
  'schedule.pause',
  `update headgate.schedule set state = 'paused', paused_at = clock_timestamp(), paused_by = $2, note = $3 where id = $1`,
);
// Due at once: the next look finds out when it is due.
const resume = statement(
  'schedule.resume',
  `update headgate.schedule set state = 'active', paused_at = null, paused_by = null, note = null,
          resumed_at = clock_timestamp(), last_nominal_at = greatest(last_nominal_at, $2), next_at = clock_timestamp()
    where id = $1`,
);
const settle = statement(
  'schedule.settle',
  'update headgate.schedule set last_nominal_at = greatest(last_nominal_at, $2) where id = $1',
);
// The newest ticks lead to the newest runs; a run that failed long ago has been seen. Index: schedule_tick's key.
const newestFailure = statement(
  'schedule.newest_failure',
  `select r.id as "runId", r.reason_code as "reasonCode"
     from (select receipt_id from headgate.schedule_tick
            where schedule_id = $1 and receipt_id is not null and bucket in ('fired', 'buffered')
            order by nominal_at desc limit 50) tick
     join headgate.receipt c on c.id = tick.receipt_id
     join headgate.run r on r.id = c.run_id
    where r.status = 'FAILED' and r.status_at > $2 and not c.existing
    order by r.status_at desc limit 1`,
);
const watched = statement(
  'schedule.watched',
  `select ${columns} from headgate.schedule s
    where s.state = 'active' and (s.spec ->> 'pauseOnFailure')::boolean order by s.id`,
);

export interface FailedRun {
  readonly runId: RunId;
  readonly reasonCode: string | null;
}

export const schedules = {
  ensure: (
    c: Connection,
    s: {
      id: ScheduleId;
      tenantId: number;
      route: string;
      ordinal: number;
      spec: ScheduleSpec;
      policyVersion: number;
      nextAt: Date | null;
    },
  ): Promise<number> =>
    c.count(ensure, [
      s.id,
      s.tenantId,
      s.route,
      s.ordinal,
      JSON.stringify(s.spec),
      s.policyVersion,
      s.nextAt,
    ]),
  /** Everything not named is retired: its route is gone from the policy. */
  retireOthers: (
    c: Connection,
    keep: readonly { tenantId: number; route: string; ordinal: number }[],
  ): Promise<number> =>
    c.count(retire, [keep.map((k) => k.tenantId), keep.map((k) => k.route), keep.map((k) => k.ordinal)]),
  all: (c: Connection): Promise<ScheduleRow[]> => c.run<ScheduleRow>(all),
  /** Those that are due first, due already or not; nothing is locked. */
  soonest: (c: Connection, limit: number): Promise<ScheduleRow[]> => c.run<ScheduleRow>(soonest, [limit]),
  /** The schedule with its row locked, if it is due: overlap is decided once, several tickers are harmless. */
  lockDue: async (c: Connection, id: ScheduleId): Promise<ScheduleRow | null> =>
    (await c.run<ScheduleRow>(lockDue, [id]))[0] ?? null,
  advance: (
    c: Connection,
    id: ScheduleId,
    lastNominalAt: Date | null,
    nextAt: Date | null,
  ): Promise<number> => c.count(advance, [id, lastNominalAt, nextAt]),
  /** Waits for a tick that is under way. */
  lockNamed: async (
    c: Connection,
    { tenantId, route, ordinal }: { tenantId: number; route: string; ordinal: number },
  ): Promise<ScheduleRow | null> =>
    (await c.run<ScheduleRow>(lockNamed, [tenantId, route, ordinal]))[0] ?? null,
  /** Those that `retireOthers` would retire. */
  lockOthers: (
    c: Connection,
    keep: readonly { tenantId: number; route: string; ordinal: number }[],
  ): Promise<ScheduleRow[]> =>
    c.run<ScheduleRow>(lockOthers, [
      keep.map((k) => k.tenantId),
      keep.map((k) => k.route),
      keep.map((k) => k.ordinal),
    ]),
  lockById: async (c: Connection, id: ScheduleId): Promise<ScheduleRow | null> =>
    (await c.run<ScheduleRow>(lockById, [id]))[0] ?? null,
  /** Without its lock. */
  find: async (c: Connection, id: ScheduleId): Promise<ScheduleRow | null> =>
    (await c.run<ScheduleRow>(find, [id]))[0] ?? null,
  pause: (c: Connection, id: ScheduleId, by: string, note: string | null): Promise<number> =>
    c.count(pause, [id, by, note]),
  resume: (c: Connection, id: ScheduleId, settledUntil: Date): Promise<number> =>
    c.count(resume, [id, settledUntil]),
  /** All nominal times up to this one have their bucket. */
  settle: (c: Connection, id: ScheduleId, until: Date): Promise<number> => c.count(settle, [id, until]),
  /** A run of its newest ticks that ended FAILED since. */
  newestFailure: async (c: Connection, id: ScheduleId, since: Date): Promise<FailedRun | null> =>
    (await c.run<FailedRun>(newestFailure, [id, since]))[0] ?? null,
  /** Active ones that a failure pauses. */
  watched: (c: Connection): Promise<ScheduleRow[]> => c.run<ScheduleRow>(watched),
};
