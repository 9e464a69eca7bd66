/** task_signal: every trigger that attached to a task. Written by admission (`tasks.attach`), trimmed here. */
import type { ReceiptId, TaskId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface TaskSignalKey {
  readonly taskId: TaskId;
  readonly receiptId: ReceiptId;
}

export interface TaskSignalPage {
  /** The last key of the page before; null: from the start. */
  readonly from: TaskSignalKey | null;
  readonly limit: number;
  readonly days: number;
}

// A page along the key; of it those whose receipts are past retention, by the time in the receipts' ids.
const forget = statement(
  'task_signal.forget',
  `with page as materialized (
     select s.task_id, s.receipt_id from headgate.task_signal s
      where (s.task_id, s.receipt_id) > ($1, $2) order by s.task_id, s.receipt_id limit $3
   ), gone as (
     delete from headgate.task_signal s using page
      where s.task_id = page.task_id and s.receipt_id = page.receipt_id
        and page.receipt_id < headgate.uuid7_floor(statement_timestamp() - $4 * interval '1 day')
   )
   select task_id as "taskId", receipt_id as "receiptId", (select count(*)::int from page) as "lookedAt"
     from page order by task_id desc, receipt_id desc limit 1`,
);

const START = '00000000-0000-0000-0000-000000000000';

export const taskSignals = {
  /** Where the page ended; null: it was the last one. */
  forget: async (c: Connection, { from, limit, days }: TaskSignalPage): Promise<TaskSignalKey | null> => {
    const [last] = await c.run<TaskSignalKey & { readonly lookedAt: number }>(forget, [
      from?.taskId ?? START,
      from?.receiptId ?? START,
      limit,
      days,
    ]);
    return last === undefined || last.lookedAt < limit ? null : last;
  },
};
