/**
 * Cancel of a task or of one run, by a person (Q5). Lock order: task, item, lease, run, deferred_signal.
 *
 * Cancelling a task also clears its latch and refuses its deferred signals, each with a receipt; until a retry or reset its signals are answered with
 * TASK_CANCELLED. Cancelling a run refuses that version only. Repeated cancels give the same answer.
 */
import { type RunId, sentence, type TaskId } from '@headgate/domain';
import { HISTORY_OPS } from '@headgate/telemetry';
import { databaseNow } from '../clock.js';
import type { Pool } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { tell } from '../history.js';
import { runEvents } from '../tables/run-events.js';
import { tasks, taskVersions } from '../tables/tasks.js';
import { type Stopped, stopRuns } from './stop-runs.js';

export interface CancelOptions {
  readonly actor: string;
  readonly reason: string | null;
  /** Tenants the caller may touch; absent for the services' own role. */
  readonly tenants?: readonly number[];
}

// What waited for this task is refused: each signal keeps its answer, under the receipt that had deferred it.
const refuseDeferred = statement(
  'deferred_signal.refuse_of_task',
  `with dropped as (
     delete from headgate.deferred_signal where task_id = $1 returning receipt_id
   )
   insert into headgate.receipt
     (id, tenant_id, kind, outcome, reason_code, message, rule, trigger, via, route, parent_receipt_id, traceparent,
      source, event_id, type, hook_id, emitted_at, received_at, actor, repository, work_key, target_id, input_version,
      generation, policy_version, task_id)
   select headgate.uuid7(), r.tenant_id, 'decision', 'reject', 'TASK_CANCELLED', $2, 'task.cancelled', r.trigger, r.via,
          r.route, r.id, r.traceparent, r.source, r.event_id, r.type, r.hook_id, r.emitted_at, r.received_at, r.actor,
          r.repository, r.work_key, r.target_id, r.input_version, r.generation, r.policy_version, $1
     from dropped join headgate.receipt r on r.id = dropped.receipt_id`,
);
const taskOfRun = statement('run.task_of', 'select task_id as "taskId" from headgate.run where id = $1');

/** Null: no such run (or not the caller's). */
export async function cancelRun(pool: Pool, runId: RunId, options: CancelOptions): Promise<Stopped | null> {
  tell.invoked(HISTORY_OPS.cancel, { runId });
  try {
    const { stopped, committedAt } = await stopOne(pool, runId, options);
    tellStopped(new Map(stopped === null ? [] : [[runId, stopped]]), committedAt);
    return stopped;
  } catch (fault) {
    tell.lost(HISTORY_OPS.cancel, { runId }, fault);
    throw fault;
  }
}

function stopOne(
  pool: Pool,
  runId: RunId,
  options: CancelOptions,
): Promise<{ readonly stopped: Stopped | null; readonly committedAt: Date }> {
  return pool.transaction(async (c) => {
    const [row] = await c.run<{ taskId: TaskId }>(taskOfRun, [runId]);
    if (row === undefined) return { stopped: null, committedAt: await databaseNow(c) };
    await tasks.lockById(c, [row.taskId]);
    const stopped = await stopRuns(c, [
      {
        runId,
        kind: 'cancel',
        reasonCode: 'CANCELLED_BY_USER',
        actor: options.actor,
        data: { reason: options.reason },
      },
    ]);
    return { stopped: stopped.get(runId) ?? null, committedAt: await databaseNow(c) };
  }, tenantScope(options));
}

/** The task's live runs and what became of each; null: no such task. */
export async function cancelTask(
  pool: Pool,
  taskId: TaskId,
  options: CancelOptions,
): Promise<ReadonlyMap<RunId, Stopped> | null> {
  const done = await stopAll(pool, taskId, options);
  if (done === null) return null;
  tellStopped(done.stopped, done.committedAt);
  return done.stopped;
}

/** A run that had ended already was not cancelled. */
function tellStopped(stopped: ReadonlyMap<RunId, Stopped>, committedAt: Date): void {
  for (const [runId, { result }] of stopped) {
    const took = result === 'ended' || result === 'requested' || result === 'already';
    if (took) tell.took(HISTORY_OPS.cancel, { runId }, { committedAt });
    else tell.refused(HISTORY_OPS.cancel, { runId }, { answer: result });
  }
}

function stopAll(
  pool: Pool,
  taskId: TaskId,
  options: CancelOptions,
): Promise<{ readonly stopped: ReadonlyMap<RunId, Stopped>; readonly committedAt: Date } | null> {
  return pool.transaction(async (c) => {
    const [task] = await tasks.lockById(c, [taskId]);
    if (task === undefined) return null;
    await tasks.cancel(c, taskId, options.actor);
    const live = await taskVersions.live(c, [taskId]);
    const stopped = await stopRuns(
      c,
      live.map((run) => ({
        runId: run.runId,
        kind: 'cancel',
        reasonCode: 'CANCELLED_BY_USER',
        actor: options.actor,
        data: { reason: options.reason, task: true },
      })),
    );
    await c.run(refuseDeferred, [taskId, sentence('TASK_CANCELLED')]);
    if (task.cancelledAt === null) {
      await runEvents.append(c, [
        {
          tenantId: task.tenantId,
          runId: null,
          taskId,
          type: 'task.cancelled',
          reasonCode: 'CANCELLED_BY_USER',
          actor: options.actor,
          data: { reason: options.reason },
        },
      ]);
    }
    return { stopped, committedAt: await databaseNow(c) };
  }, tenantScope(options));
}

const tenantScope = (options: CancelOptions) =>
  options.tenants === undefined ? {} : { tenants: options.tenants };
