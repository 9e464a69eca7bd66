/** schedule and schedule_tick: when a route wakes by itself, and which bucket each nominal time fell into. */
import type { ReasonCode, ReceiptId, ScheduleId, TriggerOn } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { rowInsert } from '../connection/rows.js';
import { statement } from '../connection/statement.js';

export type ScheduleSpec = Extract<TriggerOn, { kind: 'schedule' }>;

export interface ScheduleRow {
  readonly id: ScheduleId;
  readonly tenantId: number;
  readonly route: string;
  readonly ordinal: number;
  readonly spec: ScheduleSpec;
  readonly state: 'active' | 'paused' | 'removed';
  /** Where `@every` counts from. */
  readonly anchorAt: Date;
  readonly lastNominalAt: Date | null;
  readonly nextAt: Date | null;
  /** Database time, read after the lock. */
  readonly now: Date;
}

export interface TickRow {
  readonly scheduleId: ScheduleId;
  readonly nominalAt: Date;
  readonly untilAt: Date;
  readonly target: string;
  readonly tenantId: number;
  readonly count: number;
  readonly bucket: 'fired' | 'skipped' | 'missed';
  readonly reasonCode: ReasonCode;
  readonly receiptId: ReceiptId | null;
}

const columns = `s.id, s.tenant_id as "tenantId", s.route, s.ordinal, s.spec, s.state, s.anchor_at as "anchorAt",
  s.last_nominal_at as "lastNominalAt", s.next_at as "nextAt", clock_timestamp() as now`;

// A changed specification starts anew from now: earlier unprocessed times are dropped, not fired late.
const ensure = statement(
  'schedule.ensure',
  `insert into headgate.schedule as s (id, tenant_id, route, ordinal, spec, policy_version, next_at)
   values ($1, $2, $3, $4, $5, $6, $7)
   on conflict (tenant_id, route, ordinal) do update
      set spec = excluded.spec, policy_version = excluded.policy_version,
          state = case when s.state = 'removed' then 'active' else s.state end,
          anchor_at = clock_timestamp(), last_nominal_at = null, next_at = excluded.next_at
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
const tickRows = rowInsert<TickRow>(
  'schedule_tick.insert',
  'schedule_tick',
  [
    { name: 'schedule_id', type: 'uuid', value: (t) => t.scheduleId },
    { name: 'nominal_at', type: 'timestamptz', value: (t) => t.nominalAt },
    { name: 'target', type: 'text', value: (t) => t.target },
    { name: 'tenant_id', type: 'int', value: (t) => t.tenantId },
    { name: 'until_at', type: 'timestamptz', value: (t) => t.untilAt },
    { name: 'count', type: 'int', value: (t) => t.count },
    { name: 'bucket', type: 'text', value: (t) => t.bucket },
    { name: 'reason_code', type: 'text', value: (t) => t.reasonCode },
    { name: 'receipt_id', type: 'uuid', value: (t) => t.receiptId },
  ],
  'on conflict do nothing',
);

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
  /** Rows that were new: (schedule, nominal time, target) is unique. */
  recordTicks: (c: Connection, rows: readonly TickRow[]): Promise<number> => tickRows.insert(c, rows),
};
