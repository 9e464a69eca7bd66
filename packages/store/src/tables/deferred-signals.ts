/**
 * deferred_signal: what waits before it is decided (again): a deferral, or a version latched behind a live run
 * (due `infinity` until that run ends). Promoted through the one insert path.
 *
 * Promotion deletes the row at the end of its admission transaction, after the run locks; two promoters of one row
 * race to that delete and the loser rolls back. So the row needs no lock before the task's.
 */
import type { DeferredId, ReasonCode, ReceiptId, TaskId, WaitingVersion } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { json, rowInsert } from '../connection/rows.js';
import { statement } from '../connection/statement.js';

export interface DeferredRow {
  readonly id: DeferredId;
  readonly tenantId: number;
  readonly receiptId: ReceiptId;
  readonly taskId: TaskId | null;
  readonly reasonCode: ReasonCode;
  /** Null: due only when something releases it. */
  readonly dueAt: Date | null;
  readonly candidate: unknown;
  /** The `.headgate.yaml` that it waits for. */
  readonly repositoryFileId: number | null;
}

/** A version that waits for more signals of its work. */
export interface DebouncedRow extends WaitingVersion {
  readonly taskId: TaskId;
}

const insert = rowInsert<DeferredRow>('deferred_signal.insert', 'deferred_signal', [
  { name: 'id', type: 'uuid', value: (d) => d.id },
  { name: 'tenant_id', type: 'int', value: (d) => d.tenantId },
  { name: 'receipt_id', type: 'uuid', value: (d) => d.receiptId },
  { name: 'task_id', type: 'uuid', value: (d) => d.taskId },
  { name: 'reason_code', type: 'text', value: (d) => d.reasonCode },
  {
    name: 'due_at',
    type: 'timestamptz',
    expression: "coalesce(u.due_at, 'infinity')",
    value: (d) => d.dueAt,
  },
  { name: 'candidate', type: 'jsonb', value: (d) => json(d.candidate) },
  { name: 'repository_file_id', type: 'int', value: (d) => d.repositoryFileId },
]);
const due = statement(
  'deferred_signal.due',
  `select id, tenant_id as "tenantId", receipt_id as "receiptId", task_id as "taskId", reason_code as "reasonCode",
          due_at as "dueAt", candidate, repository_file_id as "repositoryFileId"
     from headgate.deferred_signal where due_at <= statement_timestamp() - $2 * interval '1 millisecond'
      and reason_code <> 'HEAD_UNRESOLVED'
    order by due_at, id limit $1`,
);
// Their time alone does not promote them: something has to be read first.
const dueForRead = statement(
  'deferred_signal.due_for_read',
  `select id, tenant_id as "tenantId", receipt_id as "receiptId", task_id as "taskId", reason_code as "reasonCode",
          due_at as "dueAt", candidate, tries
     from headgate.deferred_signal where due_at <= statement_timestamp() and reason_code = 'HEAD_UNRESOLVED'
    order by due_at, id limit $1`,
);
const take = statement(
  'deferred_signal.take',
  `with mine as materialized (
     select id from headgate.deferred_signal where id = any ($1::uuid[]) order by id for update
   )
   delete from headgate.deferred_signal d using mine where d.id = mine.id returning d.id`,
);
// Index: deferred_signal_task. Read under the tasks' locks, which every writer of such a row holds.
const debounced = statement(
  'deferred_signal.debounced',
  `select id as "deferredId", task_id as "taskId", receipt_id as "receiptId", candidate ->> 'route' as route,
          (candidate ->> 'debouncedSince')::timestamptz as since, candidate ->> 'inputVersion' as "inputVersion",
          (candidate -> 'signal' ->> 'sourceAt')::timestamptz as "sourceAt",
          array(select jsonb_array_elements_text(candidate -> 'signal' -> 'parentVersions')) as "parentVersions"
     from headgate.deferred_signal
    where task_id = any ($1::uuid[]) and reason_code = 'DEBOUNCED' and candidate ->> 'route' is not null
    order by id`,
);
const dropLatches = statement(
  'deferred_signal.drop_latches',
  "delete from headgate.deferred_signal where task_id = any ($1::uuid[]) and reason_code = 'QUEUED_NEXT'",
);
const postpone = statement(
  'deferred_signal.postpone',
  `with mine as materialized (
     select id from headgate.deferred_signal where id = any ($1::uuid[]) order by id for update
   )
   update headgate.deferred_signal d
      set due_at = clock_timestamp() + $2 * interval '1 millisecond', tries = tries + 1
     from mine where d.id = mine.id`,
);
// A latch whose run is gone without having released it (a lost update, a restored backup).
const orphanLatches = statement(
  'deferred_signal.release_orphan_latches',
  `with orphan as materialized (
     select d.id, t.id as task_id from headgate.task t
       join headgate.deferred_signal d on d.task_id = t.id and d.receipt_id = t.next_receipt_id
      where t.next_receipt_id is not null and d.due_at = 'infinity'
        and not exists (select 1 from headgate.task_version v where v.task_id = t.id and v.outcome is null)
      order by d.id limit $1 for update of d skip locked
   ), freed as (
     update headgate.deferred_signal d set due_at = clock_timestamp() from orphan where d.id = orphan.id
     returning d.tenant_id, d.task_id
   ), told as (
     insert into headgate.run_event (id, tenant_id, task_id, type, reason_code, actor)
     select headgate.uuid7(), tenant_id, task_id, 'task.latch_released', 'REPAIR_LATCH_RELEASED', $2 from freed
   )
   select task_id as "taskId" from freed`,
);

export const deferredSignals = {
  insert: insert.insert,
  /** @param lateByMs only those that have been due for so long. */
  due: (c: Connection, limit: number, lateByMs = 0): Promise<DeferredRow[]> =>
    c.run<DeferredRow>(due, [limit, lateByMs]),
  /** What waits for a read of its source, with how often that was tried. */
  dueForRead: (c: Connection, limit: number): Promise<(DeferredRow & { readonly tries: number })[]> =>
    c.run<DeferredRow & { readonly tries: number }>(dueForRead, [limit]),
  /** The ids that were still there: the others have been promoted by another. */
  take: async (c: Connection, ids: readonly DeferredId[]): Promise<ReadonlySet<DeferredId>> =>
    new Set((await c.run<{ id: DeferredId }>(take, [ids])).map((row) => row.id)),
  debounced: (c: Connection, taskIds: readonly TaskId[]): Promise<DebouncedRow[]> =>
    taskIds.length === 0 ? Promise.resolve([]) : c.run<DebouncedRow>(debounced, [taskIds]),
  /** What waits behind a run of these tasks: replaced by a newer version, or let in by another way. */
  dropLatches: (c: Connection, taskIds: readonly TaskId[]): Promise<number> =>
    taskIds.length === 0 ? Promise.resolve(0) : c.count(dropLatches, [taskIds]),
  postpone: (c: Connection, ids: readonly DeferredId[], delayMs: number): Promise<number> =>
    c.count(postpone, [ids, delayMs]),
  releaseOrphanLatches: (c: Connection, limit: number, actor: string): Promise<{ taskId: TaskId }[]> =>
    c.run(orphanLatches, [limit, actor]),
};
