/**
 * Where a task's results were published, and whether a person said that a sealed one may be.
 *
 * Read from what the ledger and the history hold: no copy that could drift.
 */
import type { RunId, TaskId } from '@headgate/domain';
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
// The step out of WAITING_APPROVAL after the result was sealed. Index: run_event_run.
const approved = statement(
  'run.publish_approved',
  `select exists (
     select 1 from headgate.run r join headgate.run_event e on e.run_id = r.id
      where r.id = $1 and e.from_status = 'WAITING_APPROVAL' and e.to_status = 'QUEUED' and e.at > r.sealed_at
   ) as approved`,
);

export const publications = {
  /** Null: nothing of this publication was published yet. */
  branchOf: async (c: Connection, taskId: TaskId, publication: number): Promise<PublishedBranch | null> =>
    (await c.run<PublishedBranch>(ofTask, [taskId, publication]))[0] ?? null,
  /** Whether a person released the sealed result. */
  isApproved: async (c: Connection, runId: RunId): Promise<boolean> =>
    (await c.run<{ approved: boolean }>(approved, [runId]))[0]?.approved ?? false,
};
