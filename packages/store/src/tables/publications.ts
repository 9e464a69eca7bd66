/**
 * Where a task's results were published.
 *
 * Read from what the ledger and the history hold: no copy that could drift.
 */
import type { TaskId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface PublishedBranch {
  /** `refs/heads/…`, of the first run that published in this publication of the task. */
  readonly ref: string;
  /** What the ledger last confirmed there. */
  readonly commitSha: string;
}

// Index: operation_task. The branch is the first one; what stands there is the last one confirmed at it.
const ofTask = statement(
  'operation.published_branch',
  `with confirmed as materialized (
     select o.id, o.settled_at, o.intent ->> 'ref' as ref, o.intent ->> 'commitSha' as commit_sha
       from headgate.operation o join headgate.run r on r.id = o.run_id
      where o.task_id = $1 and o.kind = 'push' and o.state = 'confirmed' and r.publication = $2
   ), first as (
     select ref from confirmed order by settled_at, id limit 1
   )
   select c.ref, c.commit_sha as "commitSha" from confirmed c join first f on f.ref = c.ref
    order by c.settled_at desc, c.id desc limit 1`,
);
// Whose branch it is: the name says which task, the ledger says whether that is so. Index: task_pkey, operation_task.
const owners = statement(
  'operation.branch_owners',
  `select a.ref, t.tenant_id as "tenantId", t.work_key as "workKey"
     from unnest($1::text[], $2::uuid[]) as a(ref, task_id)
     join headgate.task t on t.id = a.task_id
    where exists (
      select 1 from headgate.operation o
       where o.task_id = t.id and o.kind = 'push' and o.state in ('attempted', 'confirmed', 'ambiguous')
         and o.intent ->> 'ref' = a.ref)`,
);

export const publications = {
  /** Null: nothing of this publication was published yet. */
  branchOf: async (c: Connection, taskId: TaskId, publication: number): Promise<PublishedBranch | null> =>
    (await c.run<PublishedBranch>(ofTask, [taskId, publication]))[0] ?? null,
  /** The work whose results stand on these branches (`refs/heads/…`); one that is not ours has none. */
  ownersOf: (
    c: Connection,
    branches: readonly { readonly ref: string; readonly taskId: TaskId }[],
  ): Promise<{ ref: string; tenantId: number; workKey: string }[]> =>
    branches.length === 0
      ? Promise.resolve([])
      : c.run(owners, [branches.map((one) => one.ref), branches.map((one) => one.taskId)]),
};
