/** Which run made a version, how long a task's chain is, how many runs began: counted from the rows that exist. */
import { type Chain, hash16, type Maker, type TaskId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface VersionOf {
  readonly tenantId: number;
  readonly version: string;
}

// A result is sealed before it is pushed, so whoever can tell of the commit comes later. Index: seal_commit.
const makers = statement(
  'seal.makers',
  `select a.tenant_id as "tenantId", a.version, m.id as "runId", m.hops,
          coalesce(m.root_receipt_id, m.receipt_id) as "rootReceiptId"
     from unnest($1::int[], $2::text[]) as a(tenant_id, version)
    cross join lateral (
      select r.id, r.hops, r.root_receipt_id, r.receipt_id
        from headgate.seal s join headgate.run r on r.id = s.run_id
       where s.tenant_id = a.tenant_id and s.commit_sha = a.version
       order by r.hops desc, r.id desc limit 1
    ) m`,
);
// Index: run_task, its last entry.
const chains = statement(
  'run.chains',
  `select a.task_id as "taskId", newest.chain_runs as runs, newest.created_at as at
     from unnest($1::uuid[]) as a(task_id)
    cross join lateral (
      select r.chain_runs, r.created_at from headgate.run r where r.task_id = a.task_id order by r.id desc limit 1
    ) newest`,
);
// Indexes: run_subject, run_user. Counts to the limit and no further; the window is told by the ids' own time.
const startedByTarget = statement(
  'run.started_by_target',
  `select a.tenant_id as "tenantId", a.subject, counted.n
     from unnest($1::int[], $2::bytea[]) as a(tenant_id, subject)
    cross join lateral (
      select count(*)::int as n from (
        select 1 from headgate.run r
         where r.tenant_id = a.tenant_id and r.subject = a.subject
           and r.id >= headgate.uuid7_floor(statement_timestamp() - $3 * interval '1 millisecond')
         limit $4
      ) few
    ) counted`,
);
const startedByUser = statement(
  'run.started_by_user',
  `select a.tenant_id as "tenantId", a.user_id as "userId", counted.n
     from unnest($1::int[], $2::int[]) as a(tenant_id, user_id)
    cross join lateral (
      select count(*)::int as n from (
        select 1 from headgate.run r
         where r.tenant_id = a.tenant_id and r.user_id = a.user_id
           and r.id >= headgate.uuid7_floor(statement_timestamp() - $3 * interval '1 millisecond')
         limit $4
      ) few
    ) counted`,
);

/** A target as it is counted. */
export const subjectHash = (subject: string): Buffer => hash16(subject);

export const lineages = {
  /** Of the versions that a run of ours made. */
  makers: async (c: Connection, versions: readonly VersionOf[]): Promise<readonly (VersionOf & Maker)[]> =>
    versions.length === 0
      ? []
      : c.run<VersionOf & Maker>(makers, [
          versions.map((one) => one.tenantId),
          versions.map((one) => one.version),
        ]),
  /** Of the newest run of each task that has one. */
  chains: async (c: Connection, taskIds: readonly TaskId[]): Promise<ReadonlyMap<TaskId, Chain>> => {
    if (taskIds.length === 0) return new Map();
    const rows = await c.run<Chain & { taskId: TaskId }>(chains, [taskIds]);
    return new Map(rows.map(({ taskId, runs, at }) => [taskId, { runs, at }]));
  },
  /** How many runs of each target began within the window, at most `limit`; in the order asked. */
  startedByTarget: async (
    c: Connection,
    subjects: readonly { readonly tenantId: number; readonly subject: string }[],
    window: { readonly windowMs: number; readonly limit: number },
  ): Promise<readonly number[]> => {
    if (subjects.length === 0) return [];
    const hashes = subjects.map((one) => subjectHash(one.subject));
    const rows = await c.run<{ tenantId: number; subject: Buffer; n: number }>(startedByTarget, [
      subjects.map((one) => one.tenantId),
      hashes,
      window.windowMs,
      window.limit,
    ]);
    return subjects.map(
      (one, at) =>
        rows.find((row) => row.tenantId === one.tenantId && hashes[at]?.equals(row.subject))?.n ?? 0,
    );
  },
  startedByUser: async (
    c: Connection,
    users: readonly { readonly tenantId: number; readonly userId: number }[],
    window: { readonly windowMs: number; readonly limit: number },
  ): Promise<readonly number[]> => {
    if (users.length === 0) return [];
    const rows = await c.run<{ tenantId: number; userId: number; n: number }>(startedByUser, [
      users.map((one) => one.tenantId),
      users.map((one) => one.userId),
      window.windowMs,
      window.limit,
    ]);
    return users.map(
      (one) => rows.find((row) => row.tenantId === one.tenantId && row.userId === one.userId)?.n ?? 0,
    );
  },
};
