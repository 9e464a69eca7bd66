/** run: the specification, which never changes, and the status, which moves only along legal transitions. */
import type {
  LeaseId,
  Lineage,
  OnNewVersion,
  ReasonCode,
  ReceiptId,
  RetryCounters,
  RetryPolicy,
  Risk,
  RunId,
  RunSpec,
  RunStatus,
  TaskId,
} from '@headgate/domain';
import { hash16 } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { arrayLiteral, json, plainText, rowInsert } from '../connection/rows.js';
import { statement } from '../connection/statement.js';
import type { Fence } from '../fence.js';

export interface NewRun {
  readonly id: RunId;
  readonly tenantId: number;
  readonly taskId: TaskId;
  readonly receiptId: ReceiptId;
  readonly generation: number;
  readonly publication: number;
  readonly inputVersion: string;
  readonly queue: string;
  readonly repositoryId: number | null;
  readonly source: string;
  readonly priority: number;
  readonly sourceAt: Date | null;
  readonly parentVersions: readonly string[];
  readonly policyVersion: number;
  readonly concurrencyKey: string | null;
  readonly actor: string | null;
  /** Who it is counted for: a dimension id. */
  readonly userId?: number | null;
  readonly traceparent: string | null;
  /** Absent: the run begins a chain. */
  readonly lineage?: Lineage;
  /** What its rate is counted by; absent or null: by nothing. */
  readonly subject?: string | null;
  readonly spec: RunSpec;
  readonly status: RunStatus;
  readonly reasonCode: ReasonCode;
}

const insert = rowInsert<NewRun>('run.insert', 'run', [
  { name: 'id', type: 'uuid', value: (r) => r.id },
  { name: 'tenant_id', type: 'int', value: (r) => r.tenantId },
  { name: 'task_id', type: 'uuid', value: (r) => r.taskId },
  { name: 'receipt_id', type: 'uuid', value: (r) => r.receiptId },
  { name: 'generation', type: 'int', value: (r) => r.generation },
  { name: 'publication', type: 'int', value: (r) => r.publication },
  { name: 'input_version', type: 'text', value: (r) => r.inputVersion },
  { name: 'route', type: 'text', value: (r) => r.spec.route },
  { name: 'mode', type: 'text', value: (r) => r.spec.mode },
  { name: 'agent', type: 'text', value: (r) => r.spec.agent.id },
  { name: 'queue', type: 'text', value: (r) => r.queue },
  { name: 'repository_id', type: 'int', value: (r) => r.repositoryId },
  { name: 'source', type: 'text', value: (r) => r.source },
  { name: 'risk', type: 'text', value: (r) => r.spec.risk },
  { name: 'priority', type: 'int', value: (r) => r.priority },
  { name: 'source_at', type: 'timestamptz', value: (r) => r.sourceAt },
  { name: 'parent_versions', type: 'text', cast: 'text[]', value: (r) => arrayLiteral(r.parentVersions) },
  { name: 'policy_version', type: 'int', value: (r) => r.policyVersion },
  { name: 'concurrency_key', type: 'text', value: (r) => r.concurrencyKey },
  { name: 'actor', type: 'text', value: (r) => r.actor },
  { name: 'user_id', type: 'int', value: (r) => r.userId ?? null },
  { name: 'traceparent', type: 'text', value: (r) => r.traceparent },
  { name: 'hops', type: 'int', value: (r) => r.lineage?.hops ?? 0 },
  { name: 'root_receipt_id', type: 'uuid', value: (r) => r.lineage?.rootReceiptId ?? null },
  { name: 'chain_runs', type: 'int', value: (r) => r.lineage?.chainRuns ?? 1 },
  { name: 'subject', type: 'bytea', value: (r) => (r.subject == null ? null : hash16(r.subject)) },
  { name: 'spec', type: 'jsonb', value: (r) => json(r.spec) },
  { name: 'status', type: 'text', cast: 'headgate.run_status', value: (r) => r.status },
  { name: 'reason_code', type: 'text', value: (r) => r.reasonCode },
]);

/** One step of one run. */
export interface Move {
  readonly runId: RunId;
  readonly from: RunStatus;
  readonly to: RunStatus;
  readonly reasonCode: ReasonCode | null;
  readonly detail?: string | null;
  readonly actor: string | null;
  /** Of the claimant whose step it is: named in the event. */
  readonly fence?: Omit<Fence, 'runId'>;
  /** Event type; default `run.<status in lower case>`. */
  readonly event?: string;
  readonly data?: unknown;
}

/** @param step rows (run_id, from_status, to_status, reason_code, detail, actor, event, data, fencing_token, lease_id, ord) */
const moveBy = (step: string, terminal: string): string =>
  `with step as (
     ${step}
   ), moved as (
     update headgate.run r
        set status = s.to_status, status_at = clock_timestamp(),
            reason_code = coalesce(s.reason_code, r.reason_code),
            reason_detail = case when s.reason_code is null then r.reason_detail else s.detail end,
            finished_at = case when s.to_status = any (${terminal}) then clock_timestamp() end,
            started_at = case when s.to_status = 'CLAIMED' then coalesce(r.started_at, clock_timestamp()) else r.started_at end,
            attempt_no = case when s.to_status = 'CLAIMED' then r.attempt_no + 1 else r.attempt_no end,
            cancel_requested_at = case when s.to_status = 'CANCEL_REQUESTED' then clock_timestamp() else r.cancel_requested_at end,
            cancel_phase = case when s.to_status = 'CANCEL_REQUESTED' then s.from_status else r.cancel_phase end,
            cancel_actor = case when s.to_status = 'CANCEL_REQUESTED' then s.actor else r.cancel_actor end
       from step s
      where r.id = s.run_id and r.status = s.from_status
     returning r.id, r.tenant_id, r.task_id, r.attempt_no, s.ord
   ), told as (
     insert into headgate.run_event
       (id, tenant_id, run_id, task_id, type, from_status, to_status, reason_code, actor, attempt_no, fencing_token,
        lease_id, data)
     select headgate.uuid7(), m.tenant_id, m.id, m.task_id, coalesce(s.event, 'run.' || lower(s.to_status::text)),
            s.from_status, s.to_status, s.reason_code, s.actor, nullif(m.attempt_no, 0), s.fencing_token,
            s.lease_id, s.data
       from moved m join step s on s.ord = m.ord
   )
   select id as "runId" from moved`;

// The status moves and leaves its event, in one statement. Rows that are no longer in `from` are passed over: the
// returned ids tell who lost (SQL rule 9). A run that becomes CLAIMED counts its attempt here: one version of the row
// instead of two. A second CTE on the same row would change nothing, so each further step
// of a run is a statement of its own. Index: run_pkey. Lock order: run last of the contended tables.
const move = statement(
  'run.move',
  moveBy(
    `select * from unnest($1::uuid[], $2::headgate.run_status[], $3::headgate.run_status[], $4::text[], $5::text[],
                          $6::text[], $7::text[], $8::jsonb[], $10::bigint[], $11::uuid[])
       with ordinality as s(run_id, from_status, to_status, reason_code, detail, actor, event, data, fencing_token,
                            lease_id, ord)`,
    '$9::headgate.run_status[]',
  ),
);
// The same step for runs whose leases this transaction has taken: which they are, and their fences, is in those rows.
const claim = statement(
  'run.claim',
  moveBy(
    `select l.run_id, 'QUEUED'::headgate.run_status as from_status, 'CLAIMED'::headgate.run_status as to_status,
            null::text as reason_code, null::text as detail, $3::text as actor, null::text as event,
            jsonb_build_object('attemptId', l.attempt_id) as data, l.fencing_token, l.lease_id,
            row_number() over (order by l.run_id) as ord
       from headgate.lease l where l.run_id = any ($1::uuid[]) and l.lease_id = any ($2::uuid[])`,
    "'{}'::headgate.run_status[]",
  ),
);

const lock = statement(
  'run.lock',
  `select r.id as "runId", r.tenant_id as "tenantId", r.task_id as "taskId", r.status, r.attempt_no as "attemptNo",
          r.failures_application as application, r.failures_infrastructure as infrastructure,
          r.failures_lease_lost as "leaseLost", r.failures_rate_limit as "rateLimit",
          case when $2::boolean then r.spec -> 'retry' end as retry,
          coalesce(extract(epoch from clock_timestamp() - r.started_at) * 1000, 0)::float8 as "sinceFirstClaimMs",
          (extract(epoch from clock_timestamp() - r.cancel_requested_at) * 1000)::float8 as "sinceCancelMs",
          r.generation, r.input_version as "inputVersion", r.sealed_at as "sealedAt",
          r.reason_code as "reasonCode"
     from headgate.run r where r.id = any ($1::uuid[]) order by r.id for update`,
);
// What a queue item is made from.
const forItem = statement(
  'run.for_item',
  `select r.id as "runId", r.tenant_id as "tenantId", r.task_id as "taskId", r.route, r.agent, r.queue, r.risk,
          r.priority as "headStartSeconds", r.repository_id as "repositoryId", p.full_name as "repositoryName",
          r.user_id as "userId", r.concurrency_key as "concurrencyKey", r.policy_version as "policyVersion",
          r.created_at as "createdAt", r.started_at is not null as "wasClaimed", r.spec ->> 'tenant' as tenant,
          r.spec ->> 'onNewVersion' as "onNewVersion"
     from headgate.run r left join headgate.repository p on p.id = r.repository_id
    where r.id = any ($1::uuid[]) order by r.id`,
);
const endings = statement(
  'run.endings',
  `select r.status, (extract(epoch from r.finished_at - r.started_at))::float8 as "ranSeconds",
          (extract(epoch from r.finished_at - r.cancel_requested_at))::float8 as "cancelledAfterSeconds"
     from headgate.run r where r.id = any ($1::uuid[]) and r.finished_at is not null`,
);
const setCounters = statement(
  'run.set_counters',
  `update headgate.run r set failures_application = g.application, failures_infrastructure = g.infrastructure,
          failures_lease_lost = g.lease_lost, failures_rate_limit = g.rate_limit
     from unnest($1::uuid[], $2::int[], $3::int[], $4::int[], $5::int[])
          as g(run_id, application, infrastructure, lease_lost, rate_limit)
    where r.id = g.run_id`,
);
const addCost = statement(
  'run.add_cost',
  `update headgate.run r set cost_usd = r.cost_usd + g.cost_usd
     from unnest($1::uuid[], $2::numeric[]) as g(run_id, cost_usd) where r.id = g.run_id and g.cost_usd <> 0`,
);
const born = statement(
  'run_event.born',
  `insert into headgate.run_event (id, tenant_id, run_id, task_id, type, to_status, reason_code, actor, data)
   select headgate.uuid7(step.ahead), r.tenant_id, r.id, r.task_id, step.type, r.status,
          r.reason_code, r.actor, case when step.ahead = 0 then jsonb_build_object('receiptId', r.receipt_id) end
     from headgate.run r
     cross join (values (0, 'run.admitted'), (1, 'run.queued')) as step(ahead, type)
    where r.id = any ($1::uuid[]) and (step.ahead = 0 or r.status = 'QUEUED')`,
);

export interface LockedRun extends RetryCounters {
  readonly runId: RunId;
  readonly tenantId: number;
  readonly taskId: TaskId;
  readonly status: RunStatus;
  readonly attemptNo: number;
  /** Null: it was not asked for. To read it is to unpack the specification. */
  readonly retry: RetryPolicy | null;
  /** 0 before the first claim. Database time. */
  readonly sinceFirstClaimMs: number;
  /** Null: nobody cancels it. Database time. */
  readonly sinceCancelMs: number | null;
  readonly generation: number;
  readonly inputVersion: string;
  readonly sealedAt: Date | null;
  readonly reasonCode: ReasonCode | null;
}

export function retryPolicyOf({ runId, retry }: LockedRun): RetryPolicy {
  if (retry === null) throw new Error(`the retry policy of run ${runId} was not asked for`);
  return retry;
}

/** A run, as far as its queue item repeats it. */
export interface RunForItem {
  readonly runId: RunId;
  readonly tenantId: number;
  readonly taskId: TaskId;
  readonly tenant: string;
  readonly route: string;
  readonly agent: string;
  readonly queue: string;
  readonly risk: Risk;
  readonly headStartSeconds: number;
  readonly repositoryId: number | null;
  readonly repositoryName: string | null;
  readonly userId: number | null;
  readonly concurrencyKey: string | null;
  readonly policyVersion: number;
  readonly createdAt: Date;
  readonly wasClaimed: boolean;
  readonly onNewVersion: OnNewVersion;
}

/** How long an ended run took. Null: it was never claimed, or not cancelled. */
export interface RunEnding {
  readonly status: RunStatus;
  readonly ranSeconds: number | null;
  readonly cancelledAfterSeconds: number | null;
}

const TERMINAL = ['SUCCEEDED', 'FAILED', 'CANCELLED', 'NO_WORK', 'SUPERSEDED', 'EXPIRED', 'POLICY_DENIED'];

export const runs = {
  insert: insert.insert,
  /** The events of birth: admitted and queued. */
  tellBorn: (c: Connection, runIds: readonly RunId[]): Promise<number> => c.count(born, [runIds]),
  /** Moves each run one step and tells it. Returns the ids that really moved. A run may stand in `moves` once. */
  move: async (c: Connection, moves: readonly Move[]): Promise<ReadonlySet<RunId>> => {
    if (moves.length === 0) return new Set();
    const rows = await c.run<{ runId: RunId }>(move, [
      moves.map((m) => m.runId),
      moves.map((m) => m.from),
      moves.map((m) => m.to),
      moves.map((m) => m.reasonCode),
      moves.map((m) => plainText(m.detail ?? null)),
      moves.map((m) => m.actor),
      moves.map((m) => m.event ?? null),
      moves.map((m) => json(m.data)),
      TERMINAL,
      moves.map((m) => m.fence?.fencingToken ?? null),
      moves.map((m) => m.fence?.leaseId ?? null),
    ]);
    return new Set(rows.map((row) => row.runId));
  },
  /** Those of the runs whose leases this transaction has taken, from QUEUED to CLAIMED. */
  claim: (
    c: Connection,
    runIds: readonly RunId[],
    leaseIds: readonly LeaseId[],
    actor: string,
  ): Promise<{ runId: RunId }[]> => c.run(claim, [runIds, leaseIds, actor]),
  /** Locked in id order. */
  /** Locked in run id order. */
  lock: (
    c: Connection,
    runIds: readonly RunId[],
    { withRetry = false }: { readonly withRetry?: boolean } = {},
  ): Promise<LockedRun[]> => c.run<LockedRun>(lock, [runIds, withRetry]),
  forItem: (c: Connection, runIds: readonly RunId[]): Promise<RunForItem[]> =>
    runIds.length === 0 ? Promise.resolve([]) : c.run<RunForItem>(forItem, [runIds]),
  /** Those of the runs that have ended. */
  endings: (c: Connection, runIds: readonly RunId[]): Promise<RunEnding[]> =>
    runIds.length === 0 ? Promise.resolve([]) : c.run<RunEnding>(endings, [runIds]),
  setCounters: (c: Connection, rows: readonly ({ runId: RunId } & RetryCounters)[]): Promise<number> =>
    rows.length === 0
      ? Promise.resolve(0)
      : c.count(setCounters, [
          rows.map((r) => r.runId),
          rows.map((r) => r.application),
          rows.map((r) => r.infrastructure),
          rows.map((r) => r.leaseLost),
          rows.map((r) => r.rateLimit),
        ]),
  addCost: (c: Connection, rows: readonly { runId: RunId; costUsd: number }[]): Promise<number> =>
    rows.every((row) => row.costUsd === 0)
      ? Promise.resolve(0)
      : c.count(addCost, [rows.map((r) => r.runId), rows.map((r) => r.costUsd)]),
};
