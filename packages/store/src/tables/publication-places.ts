/**
 * publication_place and publication_end: how many open pull requests of ours a repository has.
 *
 * A place is made with a task's first run and says only "look here": whether it is held is read from what exists, a
 * live version of the task or a confirmed publication that has not ended. So nothing has to be given back, and
 * nothing can drift. Admissions of one repository are serialised by its advisory lock (taken after the tasks, in the
 * order of ids, and never before one), so that two of them never count the same free place.
 */
import type { ReceiptId, TaskId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { rowInsert } from '../connection/rows.js';
import { statement } from '../connection/statement.js';

export interface PlaceRow {
  readonly taskId: TaskId;
  readonly tenantId: number;
  readonly repositoryId: number;
}

/** What a signal tells of the publication that a branch of ours belongs to. */
export interface PublicationChange {
  readonly taskId: TaskId;
  readonly tenantId: number;
  readonly receiptId: ReceiptId;
}

const lock = statement(
  'publication_place.lock',
  `select pg_advisory_xact_lock(hashtextextended('headgate.repository', id))
     from (select distinct id from unnest($1::int[]) as g(id) order by id) as ordered`,
);
// An open publication: the task's present one has a confirmed branch or pull request, and has not ended.
const OPEN = `exists (
       select 1 from headgate.operation o join headgate.run r on r.id = o.run_id
        where o.task_id = t.id and o.state = 'confirmed' and o.kind in ('push', 'pull_request')
          and r.publication = t.publication
          and not exists (select 1 from headgate.publication_end e
                           where e.task_id = t.id and e.publication = t.publication))`;
// Index: publication_place_repository, then task_version_live and operation_task of each place.
const held = statement(
  'publication_place.held',
  `select p.repository_id as "repositoryId", count(*)::int as held
     from headgate.publication_place p join headgate.task t on t.id = p.task_id
    where p.repository_id = any ($1::int[])
      and (exists (select 1 from headgate.task_version v where v.task_id = t.id and v.outcome is null) or ${OPEN})
    group by p.repository_id`,
);
const open = statement(
  'publication_place.open',
  `select t.id as "taskId" from headgate.task t where t.id = any ($1::uuid[]) and ${OPEN}`,
);
const take = rowInsert<PlaceRow>(
  'publication_place.take',
  'publication_place',
  [
    { name: 'task_id', type: 'uuid', value: (p) => p.taskId },
    { name: 'tenant_id', type: 'int', value: (p) => p.tenantId },
    { name: 'repository_id', type: 'int', value: (p) => p.repositoryId },
  ],
  'order by 1 on conflict (task_id) do update set repository_id = excluded.repository_id where publication_place.repository_id <> excluded.repository_id',
);
// The tenant stands in the condition: a branch name is what anybody may write.
const end = statement(
  'publication_end.end',
  `insert into headgate.publication_end (task_id, publication, tenant_id, receipt_id)
   select t.id, t.publication, t.tenant_id, g.receipt_id
     from unnest($1::uuid[], $2::int[], $3::uuid[]) as g(task_id, tenant_id, receipt_id)
     join headgate.task t on t.id = g.task_id and t.tenant_id = g.tenant_id
    order by t.id
   on conflict (task_id, publication) do nothing`,
);
const reopen = statement(
  'publication_end.reopen',
  `delete from headgate.publication_end e using headgate.task t
    where t.id = e.task_id and e.publication = t.publication
      and (e.task_id, e.tenant_id) in (select * from unnest($1::uuid[], $2::int[]))`,
);

export const publicationPlaces = {
  /** In a statement of its own: what is counted after it sees what the holder before has written (SQL rule 4). */
  lock: async (c: Connection, repositoryIds: readonly number[]): Promise<void> => {
    if (repositoryIds.length > 0) await c.run(lock, [repositoryIds]);
  },
  /** Places held, by repository; one without any has no entry. */
  held: async (c: Connection, repositoryIds: readonly number[]): Promise<ReadonlyMap<number, number>> => {
    if (repositoryIds.length === 0) return new Map();
    const rows = await c.run<{ repositoryId: number; held: number }>(held, [repositoryIds]);
    return new Map(rows.map((row) => [row.repositoryId, row.held]));
  },
  /** Of these tasks, those whose present publication is open. */
  open: async (c: Connection, taskIds: readonly TaskId[]): Promise<ReadonlySet<TaskId>> =>
    taskIds.length === 0
      ? new Set()
      : new Set((await c.run<{ taskId: TaskId }>(open, [taskIds])).map((row) => row.taskId)),
  take: take.insert,
  end: async (c: Connection, changes: readonly PublicationChange[]): Promise<number> =>
    changes.length === 0
      ? 0
      : c.count(end, [
          changes.map((change) => change.taskId),
          changes.map((change) => change.tenantId),
          changes.map((change) => change.receiptId),
        ]),
  reopen: async (c: Connection, changes: readonly PublicationChange[]): Promise<number> =>
    changes.length === 0
      ? 0
      : c.count(reopen, [changes.map((change) => change.taskId), changes.map((change) => change.tenantId)]),
};
