/** task, task_version, task_signal: what is asked for, which versions of it were ever admitted, and by which triggers. */
import type { KnownVersion, Latch, LiveRun, ReceiptId, RunId, RunStatus, TaskId } from '@headgate/domain';
import { hash16, isTerminal } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { arrayLiteral, rowInsert } from '../connection/rows.js';
import { statement } from '../connection/statement.js';

export interface TaskKey {
  readonly taskId: TaskId;
  readonly tenantId: number;
  readonly keyHash: Buffer;
  readonly workKey: string;
}

export interface TaskRow {
  readonly id: TaskId;
  readonly tenantId: number;
  readonly workKey: string;
  readonly generation: number;
  readonly publication: number;
  readonly latestVersion: string | null;
  readonly latestSourceAt: Date | null;
  readonly latestParents: readonly string[];
  readonly nextVersion: string | null;
  readonly nextReceiptId: ReceiptId | null;
  readonly nextSourceAt: Date | null;
  readonly nextParents: readonly string[];
  readonly cancelledAt: Date | null;
}

/** A task that this transaction holds: it made it, or it stood there and is locked. */
export interface HeldTask extends TaskRow {
  readonly isNew: boolean;
}

export interface TaskVersionRow {
  readonly taskId: TaskId;
  readonly tenantId: number;
  readonly generation: number;
  readonly inputVersion: string;
  readonly runId: RunId;
  readonly sourceAt: Date | null;
  readonly parentVersions: readonly string[];
}

const taskColumns = `t.id, t.tenant_id as "tenantId", t.work_key as "workKey", t.generation, t.publication,
  t.latest_version as "latestVersion", t.latest_source_at as "latestSourceAt", t.latest_parents as "latestParents", t.next_version as "nextVersion",
  t.next_receipt_id as "nextReceiptId", t.next_source_at as "nextSourceAt", t.next_parents as "nextParents", t.cancelled_at as "cancelledAt"`;

// Always in (tenant, key hash) order, old tasks and new ones alike: two orders in one batch deadlock (SQL rule 8). Whoever
// makes tasks holds made ones only, and whoever locks old ones waits for no made one: no circle can close.
const make = statement(
  'task.make',
  `insert into headgate.task (id, tenant_id, key_hash, work_key)
   select * from unnest($1::uuid[], $2::int[], $3::bytea[], $4::text[]) as g(id, tenant_id, key_hash, work_key)
    order by g.tenant_id, g.key_hash
   on conflict (tenant_id, key_hash) do nothing
   returning id`,
);
// No key update: it excludes other holders of a task, and leaves alone the key share that the foreign key of a run takes
// when a transaction writes one run twice (a claim, a seal, a finish). Those hold the lease and the run by then, and a
// cancel holds the task and waits for them: under a full lock the two waited for each other.
const lockByKey = statement(
  'task.lock_by_key',
  `select ${taskColumns} from headgate.task t
     join unnest($1::int[], $2::bytea[]) as g(tenant_id, key_hash)
       on t.tenant_id = g.tenant_id and t.key_hash = g.key_hash
    order by t.tenant_id, t.key_hash
      for no key update of t`,
);
const lockById = statement(
  'task.lock_by_id',
  `select ${taskColumns} from headgate.task t where t.id = any ($1::uuid[]) order by t.tenant_id, t.key_hash for no key update of t`,
);
const live = statement(
  'task_version.live',
  `select v.task_id as "taskId", v.generation, v.input_version as "inputVersion", v.source_at as "sourceAt",
          v.parent_versions as "parentVersions", r.id as "runId", r.status
     from headgate.task_version v join headgate.run r on r.id = v.run_id
    where v.task_id = any ($1::uuid[]) and v.outcome is null
    order by r.id`,
);
// Locks the runs against their end (a finish updates them): after it, a run has ended, or will end after our commit.
const lockLive = statement(
  'task_version.lock_live',
  `select v.task_id as "taskId", r.status
     from headgate.task_version v join headgate.run r on r.id = v.run_id
    where v.task_id = any ($1::uuid[]) and v.outcome is null
    order by r.id for share of r`,
);
const liveOfKeys = statement(
  'task_version.live_of_keys',
  `select t.key_hash as "keyHash", r.id as "runId", r.status
     from unnest($2::bytea[]) as asked(key_hash)
     join headgate.task t on t.tenant_id = $1 and t.key_hash = asked.key_hash
     join headgate.task_version v on v.task_id = t.id and v.outcome is null
     join headgate.run r on r.id = v.run_id
    order by r.id`,
);
const admitted = statement(
  'task_version.admitted',
  `select asked.at::int as at
     from unnest($2::bytea[], $3::bytea[]) with ordinality as asked(key_hash, version_hash, at)
     join headgate.task t on t.tenant_id = $1 and t.key_hash = asked.key_hash
    where exists (select 1 from headgate.task_version v
                   where v.task_id = t.id and v.version_hash = asked.version_hash)`,
);
const known = statement(
  'task_version.known',
  `select distinct on (v.task_id, v.version_hash)
          v.task_id as "taskId", v.input_version as "inputVersion", v.generation, v.run_id as "runId", v.outcome
     from headgate.task_version v
     join unnest($1::uuid[], $2::bytea[]) as g(task_id, version_hash)
       on v.task_id = g.task_id and v.version_hash = g.version_hash
    order by v.task_id, v.version_hash, v.generation desc`,
);
const setLatest = statement(
  'task.set_latest',
  `update headgate.task t set latest_version = g.version, latest_source_at = g.source_at, latest_parents = g.parents::text[]
     from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::text[]) as g(id, version, source_at, parents) where t.id = g.id`,
);
const setGeneration = statement(
  'task.set_generation',
  `update headgate.task t set generation = g.generation, publication = g.publication,
          cancelled_at = case when g.cancelled then coalesce(t.cancelled_at, clock_timestamp()) end,
          cancelled_by = case when g.cancelled then t.cancelled_by end
     from unnest($1::uuid[], $2::int[], $3::int[], $4::boolean[]) as g(id, generation, publication, cancelled)
    where t.id = g.id`,
);
const setLatch = statement(
  'task.set_latch',
  `update headgate.task t set next_version = g.version, next_receipt_id = g.receipt_id, next_source_at = g.source_at,
          next_parents = g.parents::text[]
     from unnest($1::uuid[], $2::text[], $3::uuid[], $4::timestamptz[], $5::text[])
          as g(id, version, receipt_id, source_at, parents)
    where t.id = g.id`,
);
const cancel = statement(
  'task.cancel',
  `update headgate.task set cancelled_at = coalesce(cancelled_at, clock_timestamp()), cancelled_by = coalesce(cancelled_by, $2),
          next_version = null, next_receipt_id = null, next_source_at = null, next_parents = '{}'
    where id = $1`,
);
// Run by run (`offset 0`): else the planner may read every version that lives. Index: run_pkey, task_version_live or _pkey.
const closeVersions = statement(
  'task_version.close',
  `update headgate.task_version v set outcome = r.status
     from headgate.run r
    cross join lateral (
      select o.task_id, o.version_hash, o.generation from headgate.task_version o
       where o.task_id = r.task_id and o.run_id = r.id and o.outcome is null offset 0) mine
    where r.id = any ($1::uuid[])
      and (v.task_id, v.version_hash, v.generation) = (mine.task_id, mine.version_hash, mine.generation)`,
);

const versionRows = rowInsert<TaskVersionRow>('task_version.insert', 'task_version', [
  { name: 'task_id', type: 'uuid', value: (v) => v.taskId },
  { name: 'generation', type: 'int', value: (v) => v.generation },
  { name: 'version_hash', type: 'bytea', value: (v) => hash16(v.inputVersion) },
  { name: 'tenant_id', type: 'int', value: (v) => v.tenantId },
  { name: 'input_version', type: 'text', value: (v) => v.inputVersion },
  { name: 'run_id', type: 'uuid', value: (v) => v.runId },
  { name: 'source_at', type: 'timestamptz', value: (v) => v.sourceAt },
  { name: 'parent_versions', type: 'text', cast: 'text[]', value: (v) => arrayLiteral(v.parentVersions) },
]);

interface SignalRow {
  readonly taskId: TaskId;
  readonly receiptId: ReceiptId;
  readonly tenantId: number;
  readonly runId: RunId | null;
}
const signalRows = rowInsert<SignalRow>(
  'task_signal.insert',
  'task_signal',
  [
    { name: 'task_id', type: 'uuid', value: (s) => s.taskId },
    { name: 'receipt_id', type: 'uuid', value: (s) => s.receiptId },
    { name: 'tenant_id', type: 'int', value: (s) => s.tenantId },
    { name: 'run_id', type: 'uuid', value: (s) => s.runId },
  ],
  'on conflict do nothing',
);

const nameOf = ({ tenantId, workKey }: Pick<TaskRow, 'tenantId' | 'workKey'>): string =>
  `${tenantId}\u0000${workKey}`;

const byKey = (a: TaskKey, b: TaskKey): number =>
  a.tenantId - b.tenantId || Buffer.compare(a.keyHash, b.keyHash);

/** As the table's defaults have it. */
const newTask = ({ taskId, tenantId, workKey }: TaskKey): HeldTask => ({
  id: taskId,
  tenantId,
  workKey,
  generation: 1,
  publication: 1,
  latestVersion: null,
  latestSourceAt: null,
  latestParents: [],
  nextVersion: null,
  nextReceiptId: null,
  nextSourceAt: null,
  nextParents: [],
  cancelledAt: null,
  isNew: true,
});

export const tasks = {
  /**
   * Makes the tasks that are missing and locks the others, in (tenant, key hash) order. A new one is nobody else's until
   * COMMIT and has nothing yet: it needs no lock, and no look at what stands.
   */
  lock: async (c: Connection, keys: readonly TaskKey[]): Promise<readonly HeldTask[]> => {
    if (keys.length === 0) return [];
    const made = await c.run<{ id: TaskId }>(make, [
      keys.map((key) => key.taskId),
      keys.map((key) => key.tenantId),
      keys.map((key) => key.keyHash),
      keys.map((key) => key.workKey),
    ]);
    const madeIds = new Set(made.map(({ id }) => id));
    const others = keys.filter((key) => !madeIds.has(key.taskId));
    const stood =
      others.length === 0
        ? []
        : await c.run<TaskRow>(lockByKey, [
            others.map((key) => key.tenantId),
            others.map((key) => key.keyHash),
          ]);
    const held = new Map(stood.map((row) => [nameOf(row), { ...row, isNew: false }]));
    for (const key of keys) if (madeIds.has(key.taskId)) held.set(nameOf(key), newTask(key));
    return [...keys].sort(byKey).flatMap((key) => held.get(nameOf(key)) ?? []);
  },
  lockById: (c: Connection, ids: readonly TaskId[]): Promise<TaskRow[]> => c.run<TaskRow>(lockById, [ids]),
  setLatest: (
    c: Connection,
    rows: readonly {
      taskId: TaskId;
      inputVersion: string;
      sourceAt: Date | null;
      parentVersions: readonly string[];
    }[],
  ): Promise<number> =>
    rows.length === 0
      ? Promise.resolve(0)
      : c.count(setLatest, [
          rows.map((r) => r.taskId),
          rows.map((r) => r.inputVersion),
          rows.map((r) => r.sourceAt),
          rows.map((r) => arrayLiteral(r.parentVersions)),
        ]),
  setGeneration: (
    c: Connection,
    rows: readonly { taskId: TaskId; generation: number; publication: number; cancelled: boolean }[],
  ): Promise<number> =>
    rows.length === 0
      ? Promise.resolve(0)
      : c.count(setGeneration, [
          rows.map((r) => r.taskId),
          rows.map((r) => r.generation),
          rows.map((r) => r.publication),
          rows.map((r) => r.cancelled),
        ]),
  setLatch: (c: Connection, rows: readonly { taskId: TaskId; latch: Latch | null }[]): Promise<number> =>
    rows.length === 0
      ? Promise.resolve(0)
      : c.count(setLatch, [
          rows.map((r) => r.taskId),
          rows.map((r) => r.latch?.inputVersion ?? null),
          rows.map((r) => r.latch?.receiptId ?? null),
          rows.map((r) => r.latch?.sourceAt ?? null),
          rows.map((r) => arrayLiteral(r.latch?.parentVersions ?? [])),
        ]),
  /** Also clears the latch. Its caller holds the task's lock. */
  cancel: (c: Connection, taskId: TaskId, actor: string): Promise<number> => c.count(cancel, [taskId, actor]),
  attach: signalRows.insert,
};

export const taskVersions = {
  insert: versionRows.insert,
  /** Non-terminal runs of the tasks, oldest first. */
  live: (c: Connection, taskIds: readonly TaskId[]): Promise<(LiveRun & { taskId: TaskId })[]> =>
    taskIds.length === 0 ? Promise.resolve([]) : c.run<LiveRun & { taskId: TaskId }>(live, [taskIds]),
  /** Tasks that have a run which has not ended; the runs stay locked (shared) until the end of the transaction. */
  lockLive: async (c: Connection, taskIds: readonly TaskId[]): Promise<ReadonlySet<TaskId>> => {
    if (taskIds.length === 0) return new Set();
    const rows = await c.run<{ taskId: TaskId; status: RunStatus }>(lockLive, [taskIds]);
    return new Set(rows.filter((row) => !isTerminal(row.status)).map((row) => row.taskId));
  },
  /** Runs that have not ended, by the hash of their work key, oldest first. */
  liveOfKeys: (
    c: Connection,
    tenantId: number,
    keyHashes: readonly Buffer[],
  ): Promise<{ keyHash: Buffer; runId: RunId; status: RunStatus }[]> =>
    c.run(liveOfKeys, [tenantId, keyHashes]),
  /** Which of the asked pieces of work were ever admitted, by their positions. */
  admitted: async (
    c: Connection,
    tenantId: number,
    asked: readonly { readonly keyHash: Buffer; readonly inputVersion: string }[],
  ): Promise<ReadonlySet<number>> => {
    if (asked.length === 0) return new Set();
    const rows = await c.run<{ at: number }>(admitted, [
      tenantId,
      asked.map((one) => one.keyHash),
      asked.map((one) => hash16(one.inputVersion)),
    ]);
    return new Set(rows.map((row) => row.at - 1));
  },
  /** The newest generation of each asked version. */
  known: (
    c: Connection,
    pairs: readonly { taskId: TaskId; inputVersion: string }[],
  ): Promise<(KnownVersion & { taskId: TaskId; inputVersion: string })[]> =>
    pairs.length === 0
      ? Promise.resolve([])
      : c.run<KnownVersion & { taskId: TaskId; inputVersion: string; outcome: RunStatus | null }>(known, [
          pairs.map((pair) => pair.taskId),
          pairs.map((pair) => hash16(pair.inputVersion)),
        ]),
  /** Writes the outcome of ended runs onto their versions: the tombstone. */
  close: (c: Connection, runIds: readonly RunId[]): Promise<number> => c.count(closeVersions, [runIds]),
};
