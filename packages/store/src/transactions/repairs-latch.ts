/**
 * A queueOne latch whose waiting signal is gone: the task still names the version that comes next, and nothing would
 * ever bring it.
 *
 * Either the signal was decided after all (a receipt names the latched one as its parent) and the latch stayed, or
 * its row was lost. In the first case the latch is cleared; in the second the row is made again, as far as the
 * receipt still tells what was asked. One transaction under the task's lock; lock order: task, deferred_signal.
 */
import type { DeferredId, ReceiptId, Signal, TaskId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { deferredSignals } from '../tables/deferred-signals.js';
import { runEvents } from '../tables/run-events.js';
import { tasks, taskVersions } from '../tables/tasks.js';
import type { RepairOptions } from './repairs-prove.js';

/** A latch without its row, and what is known of the signal it named. */
export interface BrokenLatch {
  readonly taskId: TaskId;
  readonly tenantId: number;
  readonly tenant: string;
  readonly workKey: string;
  readonly inputVersion: string;
  readonly sourceAt: Date | null;
  readonly parentVersions: readonly string[];
  readonly receiptId: ReceiptId;
  /** Null: retention has taken it. */
  readonly receipt: LatchedReceipt | null;
  /** The signal was decided again already. */
  readonly wasDecided: boolean;
}

/** Of the newest run of the task there are repository and target: a task has one of each. */
export interface LatchedReceipt
  extends Pick<
    Signal,
    'source' | 'eventId' | 'type' | 'trigger' | 'via' | 'hookId' | 'emittedAt' | 'receivedAt' | 'traceparent'
  > {
  readonly route: string | null;
  /** `kind:name`. */
  readonly actor: string | null;
  readonly repository: Signal['repository'];
  readonly target: Signal['target'];
}

// Index: task_latch; of the receipt its key and receipt_event; run_task.
const broken = statement(
  'repair.broken_latches',
  `select t.id as "taskId", t.tenant_id as "tenantId", n.key as tenant, t.work_key as "workKey",
          t.next_version as "inputVersion", t.next_source_at as "sourceAt", t.next_parents as "parentVersions",
          t.next_receipt_id as "receiptId",
          exists (select 1 from headgate.receipt again
                   where again.event_id = d.event_id and again.parent_receipt_id = d.id) as "wasDecided",
          d.source, d.event_id as "eventId", d.type, d.trigger, d.via, d.hook_id as "hookId",
          d.emitted_at as "emittedAt", d.received_at as "receivedAt", d.traceparent, d.actor, d.route,
          newest.spec -> 'target' as target,
          case when p.id is not null then jsonb_build_object(
            'externalId', p.external_id, 'fullName', p.full_name, 'defaultBranch', p.default_branch) end as repository
     from headgate.task t
     join headgate.tenant n on n.id = t.tenant_id
     left join headgate.receipt d on d.id = t.next_receipt_id
     left join lateral (
       select r.spec, r.repository_id from headgate.run r where r.task_id = t.id order by r.id desc limit 1) newest on true
     left join headgate.repository p on p.id = newest.repository_id
    where t.next_receipt_id is not null and t.id > $1
      and not exists (select 1 from headgate.deferred_signal s where s.task_id = t.id and s.receipt_id = t.next_receipt_id)
    order by t.id limit $2`,
);
const stillThere = statement(
  'repair.latch_row',
  'select 1 from headgate.deferred_signal where task_id = $1 and receipt_id = $2',
);

interface Row extends Omit<BrokenLatch, 'receipt'>, Partial<LatchedReceipt> {}

/** Latches without a waiting signal, read without a lock. @param after the last task of the page before. */
export async function findBrokenLatches(
  c: Connection,
  after: TaskId | null,
  limit: number,
): Promise<readonly BrokenLatch[]> {
  const rows = await c.run<Row>(broken, [after ?? '00000000-0000-0000-0000-000000000000', limit]);
  return rows.map((row) => {
    const {
      taskId,
      tenantId,
      tenant,
      workKey,
      inputVersion,
      sourceAt,
      parentVersions,
      receiptId,
      wasDecided,
    } = row;
    const latch = { taskId, tenantId, tenant, workKey, inputVersion, sourceAt, parentVersions, receiptId };
    return { ...latch, wasDecided, receipt: receiptOf(row) };
  });
}

function receiptOf(row: Row): LatchedReceipt | null {
  const { source, eventId, type, trigger, via, receivedAt } = row;
  if (source == null || eventId == null || type == null || trigger == null || via == null) return null;
  if (receivedAt == null) return null;
  const { hookId = null, emittedAt = null, traceparent = null } = row;
  const { actor = null, repository = null, target = null, route = null } = row;
  return {
    source,
    eventId,
    type,
    trigger,
    via,
    receivedAt,
    hookId,
    emittedAt,
    traceparent,
    route,
    actor,
    repository,
    target,
  };
}

export interface LatchRepair {
  readonly latch: BrokenLatch;
  readonly deferredId: DeferredId;
  /** What admission decides when it is promoted; null: nothing can bring it back, the latch is cleared. */
  readonly candidate: unknown;
}

export type LatchRepaired = 'rebuilt' | 'cleared' | 'unchanged';

/** Puts one latch right (REPAIR_LATCH_RELEASED); `unchanged` when it is no longer broken. */
export const repairLatch = (
  pool: Pool,
  { latch, deferredId, candidate }: LatchRepair,
  options: RepairOptions,
): Promise<LatchRepaired> =>
  pool.transaction(async (c) => {
    const { taskId, receiptId } = latch;
    const [task] = await tasks.lockById(c, [taskId]);
    if (task?.nextReceiptId !== receiptId) return 'unchanged';
    if ((await c.run(stillThere, [taskId, receiptId])).length > 0) return 'unchanged';
    const isRebuilt = candidate !== null;
    if (isRebuilt) {
      const live = await taskVersions.live(c, [taskId]);
      await deferredSignals.insert(c, [
        {
          id: deferredId,
          tenantId: task.tenantId,
          receiptId,
          taskId,
          reasonCode: 'QUEUED_NEXT',
          dueAt: live.length > 0 ? null : new Date(0),
          candidate,
          repositoryFileId: null,
        },
      ]);
    } else {
      await tasks.setLatch(c, [{ taskId, latch: null }]);
    }
    await runEvents.append(c, [
      {
        tenantId: task.tenantId,
        runId: null,
        taskId,
        type: isRebuilt ? 'repair.latch_rebuilt' : 'repair.latch_cleared',
        reasonCode: 'REPAIR_LATCH_RELEASED',
        actor: options.actor,
        data: { receiptId, inputVersion: latch.inputVersion, wasDecided: latch.wasDecided },
      },
    ]);
    return isRebuilt ? 'rebuilt' : 'cleared';
  });
