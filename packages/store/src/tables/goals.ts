/** goal: what a route works towards in one repository, and how far it is. */
import type {
  GoalId,
  GoalProgress,
  GoalSpec,
  GoalState,
  ReasonCode,
  ReceiptId,
  RunId,
  RunStatus,
  TaskId,
} from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export type GoalPhase = 'idle' | 'observing' | 'working';

export interface GoalRow extends GoalProgress {
  readonly id: GoalId;
  readonly tenantId: number;
  readonly route: string;
  readonly ordinal: number;
  /** The repository's identity, and how it is called. */
  readonly target: string;
  readonly repository: string;
  readonly spec: GoalSpec;
  readonly state: GoalState;
  readonly epoch: number;
  /** A person began it anew, and the agent has not run since. */
  readonly isReset: boolean;
  readonly phase: GoalPhase;
  readonly runId: RunId | null;
  readonly nextAt: Date | null;
  readonly observations: number;
  /** Database time. */
  readonly now: Date;
}

export interface GoalKey {
  readonly tenantId: number;
  readonly route: string;
  readonly ordinal: number;
  readonly target: string;
}

const columns = `g.id, g.tenant_id as "tenantId", g.route, g.ordinal, g.target, g.repository, g.spec, g.state, g.epoch,
  g.is_reset as "isReset", g.phase, g.run_id as "runId", g.next_at as "nextAt", g.started_at as "startedAt",
  g.observations, g.runs, g.cost_usd::float8 as "costUsd", g.no_progress as "noProgress", g.unknowns,
  g.ran_since as "ranSince", g.fingerprint, clock_timestamp() as now`;

/** Everything that counts begins anew; what is under way stays. */
const anew = `started_at = clock_timestamp(), epoch = g.epoch + 1, observations = 0, runs = 0, cost_usd = 0,
  no_progress = 0, unknowns = 0, ran_since = false, fingerprint = null, receipt_id = null, reason_code = null`;

// A changed goal begins anew. One that was paused stays paused; one that had ended works again.
const ensure = statement(
  'goal.ensure',
  `insert into headgate.goal as g (id, tenant_id, route, ordinal, target, repository, spec, policy_version, next_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp())
   on conflict (tenant_id, route, ordinal, target) do update
      set spec = excluded.spec, policy_version = excluded.policy_version, repository = excluded.repository,
          state = case when g.state = 'paused' then 'paused' else 'active' end, state_at = clock_timestamp(),
          next_at = clock_timestamp(), ${anew}
    where g.spec <> excluded.spec or g.state = 'removed'`,
);
const retire = statement(
  'goal.retire',
  `update headgate.goal g set state = 'removed', state_at = clock_timestamp(), next_at = null
    where g.state <> 'removed' and not exists (
      select 1 from unnest($1::int[], $2::text[], $3::int[], $4::text[]) as keep(tenant_id, route, ordinal, target)
       where g.tenant_id = keep.tenant_id and g.route = keep.route and g.ordinal = keep.ordinal
         and g.target = keep.target)`,
);
// Index: goal_due.
const due = statement(
  'goal.due',
  `select ${columns} from headgate.goal g
    where g.state = 'active' and g.phase = 'idle' and g.next_at <= clock_timestamp() order by g.next_at, g.id limit $1`,
);
// Index: goal_under_way. Those whose run has ended, and that need not wait.
const ended = statement(
  'goal.ended',
  `select ${columns} from headgate.goal g join headgate.run r on r.id = g.run_id
    where g.state = 'active' and g.phase <> 'idle' and (g.next_at is null or g.next_at <= clock_timestamp())
      and r.status in ('SUCCEEDED', 'FAILED', 'CANCELLED', 'NO_WORK', 'SUPERSEDED', 'EXPIRED', 'POLICY_DENIED')
    order by g.id limit $1`,
);
const nextLook = statement(
  'goal.next_look',
  `select least(min(g.next_at) filter (where g.phase = 'idle'),
                case when bool_or(g.phase <> 'idle') then clock_timestamp() + interval '1 second' end) as at,
          clock_timestamp() as now
     from headgate.goal g where g.state = 'active'`,
);
// One table and no join, as with schedules: a second look would see the version before another keeper's commit.
const lock = statement(
  'goal.lock',
  `select ${columns} from headgate.goal g
    where g.id = $1 and g.state = 'active' and g.phase = $2 and g.epoch = $3 and g.run_id is not distinct from $4
      for update skip locked`,
);
const lockById = statement(
  'goal.lock_by_id',
  `select ${columns} from headgate.goal g where g.id = $1 and g.state <> 'removed' for update`,
);
const begin = statement(
  'goal.begin',
  `update headgate.goal set phase = $2, run_id = $3, next_at = null,
          observations = observations + case when $2 = 'observing' then 1 else 0 end,
          runs = runs + case when $2 = 'working' and $4 then 1 else 0 end,
          is_reset = is_reset and $2 <> 'working'
    where id = $1`,
);
const rest = statement(
  'goal.rest',
  `update headgate.goal set phase = 'idle', run_id = null, next_at = $2, cost_usd = cost_usd + $3,
          ran_since = ran_since or $4 where id = $1`,
);
const progress = statement(
  'goal.progress',
  `update headgate.goal set no_progress = $2, unknowns = $3, ran_since = $4, fingerprint = $5 where id = $1`,
);
const setState = statement(
  'goal.set_state',
  `update headgate.goal set state = $2, state_at = clock_timestamp(), state_by = $3, reason_code = $4, note = $5,
          receipt_id = $6, next_at = case when $2 = 'active' then clock_timestamp() end
    where id = $1`,
);
const reset = statement(
  'goal.reset',
  `update headgate.goal g set state = 'active', state_at = clock_timestamp(), state_by = $2, note = $3, phase = 'idle',
          run_id = null, is_reset = true, next_at = clock_timestamp(), ${anew}
    where id = $1`,
);
const postpone = statement(
  'goal.postpone',
  `update headgate.goal set next_at = clock_timestamp() + $2 * interval '1 millisecond'
    where id = $1 and state = 'active'`,
);
const runEnd = statement(
  'goal.run_end',
  `select r.status, r.reason_code as "reasonCode", r.cost_usd::float8 as "costUsd", a.evidence
     from headgate.run r
     left join lateral (select evidence from headgate.attempt
                         where run_id = r.id order by number desc limit 1) a on true
    where r.id = $1`,
);
const taskOf = statement(
  'goal.task',
  `select t.id, t.publication, t.cancelled_at as "cancelledAt" from headgate.task t
    where t.tenant_id = $1 and t.key_hash = $2`,
);

export interface RunEnd {
  readonly status: RunStatus;
  readonly reasonCode: ReasonCode | null;
  readonly costUsd: number;
  /** Of its last attempt. */
  readonly evidence: unknown;
}

export interface GoalTask {
  readonly id: TaskId;
  readonly publication: number;
  readonly cancelledAt: Date | null;
}

export interface StateChange {
  readonly state: GoalState;
  readonly by: string | null;
  readonly reasonCode: ReasonCode | null;
  readonly note: string | null;
  readonly receiptId: ReceiptId | null;
}

export const goals = {
  ensure: (
    c: Connection,
    g: GoalKey & {
      readonly id: GoalId;
      readonly repository: string;
      readonly spec: GoalSpec;
      readonly policyVersion: number;
    },
  ): Promise<number> =>
    c.count(ensure, [
      g.id,
      g.tenantId,
      g.route,
      g.ordinal,
      g.target,
      g.repository,
      JSON.stringify(g.spec),
      g.policyVersion,
    ]),
  /** Everything not named is retired; its runs go on. */
  retireOthers: (c: Connection, keep: readonly GoalKey[]): Promise<number> =>
    c.count(retire, [
      keep.map((k) => k.tenantId),
      keep.map((k) => k.route),
      keep.map((k) => k.ordinal),
      keep.map((k) => k.target),
    ]),
  /** Idle ones whose time has come; nothing is locked. */
  due: (c: Connection, limit: number): Promise<GoalRow[]> => c.run<GoalRow>(due, [limit]),
  /** Those whose observation or agent has ended. */
  ended: (c: Connection, limit: number): Promise<GoalRow[]> => c.run<GoalRow>(ended, [limit]),
  /** When to look again; null = nothing is active. */
  nextLook: async (c: Connection): Promise<{ readonly at: Date | null; readonly now: Date } | null> =>
    (await c.run<{ at: Date | null; now: Date }>(nextLook))[0] ?? null,
  /** The goal as it was seen, locked; null = another keeper has it, or it has changed since. */
  lock: async (c: Connection, seen: GoalRow): Promise<GoalRow | null> =>
    (await c.run<GoalRow>(lock, [seen.id, seen.phase, seen.epoch, seen.runId]))[0] ?? null,
  lockById: async (c: Connection, id: GoalId): Promise<GoalRow | null> =>
    (await c.run<GoalRow>(lockById, [id]))[0] ?? null,
  /** `isNew`: false when the run was made by somebody else. */
  begin: (
    c: Connection,
    id: GoalId,
    phase: 'observing' | 'working',
    runId: RunId,
    isNew: boolean,
  ): Promise<number> => c.count(begin, [id, phase, runId, isNew]),
  rest: (
    c: Connection,
    id: GoalId,
    { nextAt, costUsd, ranAgent }: { nextAt: Date | null; costUsd: number; ranAgent: boolean },
  ): Promise<number> => c.count(rest, [id, nextAt, costUsd, ranAgent]),
  setProgress: (
    c: Connection,
    id: GoalId,
    p: Pick<GoalProgress, 'noProgress' | 'unknowns' | 'ranSince' | 'fingerprint'>,
  ): Promise<number> => c.count(progress, [id, p.noProgress, p.unknowns, p.ranSince, p.fingerprint]),
  setState: (c: Connection, id: GoalId, change: StateChange): Promise<number> =>
    c.count(setState, [id, change.state, change.by, change.reasonCode, change.note, change.receiptId]),
  reset: (c: Connection, id: GoalId, by: string, note: string | null): Promise<number> =>
    c.count(reset, [id, by, note]),
  postpone: (c: Connection, id: GoalId, delayMs: number): Promise<number> => c.count(postpone, [id, delayMs]),
  runEnd: async (c: Connection, runId: RunId): Promise<RunEnd | null> =>
    (await c.run<RunEnd>(runEnd, [runId]))[0] ?? null,
  /** The task of its agent's runs; null = there was none yet. */
  task: async (c: Connection, tenantId: number, keyHash: Buffer): Promise<GoalTask | null> =>
    (await c.run<GoalTask>(taskOf, [tenantId, keyHash]))[0] ?? null,
};
