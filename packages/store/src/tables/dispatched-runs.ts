/**
 * Dispatched items with what a worker's verdict needs. A worker believes nothing of a hint but the names of the run
 * and of the dispatch (Q2): all else is read here.
 */
import type { ReasonCode, RunId, RunSpec, TaskId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface DispatchedRun {
  readonly runId: RunId;
  readonly dispatchNo: number;
  readonly tenantId: number;
  readonly taskId: TaskId;
  readonly queueId: number;
  readonly inputVersion: string;
  readonly source: string;
  readonly spec: RunSpec;
  readonly sealed: boolean;
  readonly traceparent: string | null;
  readonly sourceAt: Date | null;
  readonly parentVersions: readonly string[];
  /** The newest version of the task by the source's order. */
  readonly latestVersion: string | null;
  readonly latestSourceAt: Date | null;
  readonly latestParents: readonly string[];
}

const columns = `q.run_id as "runId", q.dispatch_no as "dispatchNo", q.tenant_id as "tenantId", q.task_id as "taskId",
  q.queue_id as "queueId", r.input_version as "inputVersion", r.source, r.spec, r.sealed_at is not null as sealed,
  r.traceparent, r.source_at as "sourceAt", r.parent_versions as "parentVersions", t.latest_version as "latestVersion",
  t.latest_source_at as "latestSourceAt", t.latest_parents as "latestParents"`;

// Index: queue_item_pkey, run_pkey, task_pkey. No lock: the verdict and the claim are fenced by the dispatch number. An item is
// dispatched where it says when: asked for its state, the planner may read all that is and was dispatched by their index.
const named = statement(
  'dispatched_run.named',
  `select ${columns}
     from unnest($1::uuid[], $2::int[]) as h(run_id, dispatch_no)
     join headgate.queue_item q on q.run_id = h.run_id and q.dispatch_no = h.dispatch_no
     join headgate.run r on r.id = q.run_id
     join headgate.task t on t.id = r.task_id
    where q.dispatched_at is not null and q.queue_id = any ($3::int[]) and r.status = 'QUEUED'
    order by q.run_id`,
);
// Of items that this transaction chose, as its mark left them: one that was passed over is still ready.
const marked = statement(
  'dispatched_run.marked',
  `select ${columns}
     from headgate.queue_item q
     join headgate.run r on r.id = q.run_id
     join headgate.task t on t.id = r.task_id
    where q.run_id = any ($1::uuid[]) and r.status = 'QUEUED'
    order by q.run_id`,
);
// What polling finds. Index: queue_item_dispatched, oldest first; bounded by $3.
const waiting = statement(
  'dispatched_run.waiting',
  `with oldest as materialized (
     select run_id from headgate.queue_item
      where state = 'dispatched' and queue_id = any ($1::int[])
        and dispatched_at <= statement_timestamp() - $2 * interval '1 millisecond'
      order by dispatched_at, run_id limit $3
   )
   select ${columns}
     from oldest
     join headgate.queue_item q on q.run_id = oldest.run_id and q.dispatched_at is not null
     join headgate.run r on r.id = q.run_id
     join headgate.task t on t.id = r.task_id
    where r.status = 'QUEUED'
    order by q.dispatched_at, q.run_id`,
);
// Index: run_event_run. Counted to $3 at most.
const deferrals = statement(
  'run_event.count_deferrals',
  `select count(*)::int as deferrals from (
     select 1 from headgate.run_event
      where run_id = $1 and type = 'run.waiting_capacity' and reason_code = $2 limit $3) few`,
);

export const dispatchedRuns = {
  /** Those of the named dispatches that still stand and lie in one of the queues. */
  named: (
    c: Connection,
    hints: readonly { readonly runId: RunId; readonly dispatchNo: number }[],
    queueIds: readonly number[],
  ): Promise<DispatchedRun[]> =>
    hints.length === 0
      ? Promise.resolve([])
      : c.run<DispatchedRun>(named, [
          hints.map((hint) => hint.runId),
          hints.map((hint) => hint.dispatchNo),
          queueIds,
        ]),
  /** Of the runs that this transaction chose; which of them it marked, the mark says. */
  marked: (c: Connection, runIds: readonly RunId[]): Promise<DispatchedRun[]> =>
    c.run<DispatchedRun>(marked, [runIds]),
  /** The oldest dispatched items of the queues that nobody has claimed for `olderThanMs`. */
  waiting: (
    c: Connection,
    queueIds: readonly number[],
    olderThanMs: number,
    limit: number,
  ): Promise<DispatchedRun[]> => c.run<DispatchedRun>(waiting, [queueIds, olderThanMs, limit]),
  /** How often a run was deferred for this reason so far, counted to `most`. */
  deferrals: async (c: Connection, runId: RunId, reasonCode: ReasonCode, most: number): Promise<number> =>
    (await c.run<{ deferrals: number }>(deferrals, [runId, reasonCode, most]))[0]?.deferrals ?? 0,
};
