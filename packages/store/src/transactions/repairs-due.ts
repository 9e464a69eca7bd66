/**
 * What time alone should have brought about and did not: nobody promoted, nobody hinted again, nobody beats.
 *
 * These are a scheduler's and a worker's duties; here they are done late, when the delay proves that nobody does
 * them. SKIP LOCKED and conditional, so that any number of reconcilers and a scheduler that comes back are harmless.
 */
import type { DeferredId, ReceiptId, RunId, TaskId, WorkerId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { deferredSignals } from '../tables/deferred-signals.js';
import { type DispatchedItem, dispatchedItems } from '../tables/dispatched-items.js';
import { runEvents } from '../tables/run-events.js';
import { runs } from '../tables/runs.js';
import { workers } from '../tables/workers.js';
import type { Repaired, RepairOptions } from './repairs-prove.js';

export interface LateOptions extends RepairOptions {
  readonly lateByMs: number;
  readonly limit: number;
}

// Index: queue_item_delayed. Lock order: item, run.
const promoteLate = statement(
  'repair.promote_late',
  `with late as materialized (
     select run_id from headgate.queue_item
      where state = 'delayed' and visible_at <= statement_timestamp() - $1 * interval '1 millisecond'
      order by visible_at, run_id limit $2 for update skip locked
   ), promoted as (
     update headgate.queue_item q set state = 'ready', waits = null
      where q.run_id = any (array (select run_id from late))
     returning q.run_id, q.tenant_id, q.task_id, q.visible_at
   ), told as (
     insert into headgate.run_event (id, tenant_id, run_id, task_id, type, reason_code, actor, data)
     select headgate.uuid7(), tenant_id, run_id, task_id, 'repair.promoted', 'REPAIR_DUE_PROMOTED', $3,
            jsonb_build_object('dueAt', visible_at)
       from promoted
   )
   select run_id as "runId", tenant_id as "tenantId" from promoted`,
);

/** Delayed items that were due long ago: ready, and a run that waited for capacity is QUEUED (REPAIR_DUE_PROMOTED). */
export const promoteOverdue = (pool: Pool, options: LateOptions): Promise<readonly Repaired[]> =>
  pool.transaction(async (c) => {
    const { lateByMs, limit, actor } = options;
    const promoted = await c.run<Repaired>(promoteLate, [lateByMs, limit, actor]);
    await runs.move(
      c,
      promoted.map(({ runId }) => ({
        runId,
        from: 'WAITING_CAPACITY',
        to: 'QUEUED',
        reasonCode: null,
        actor,
      })),
    );
    return promoted;
  });

const ownersOf = statement(
  'repair.owners',
  `select id as "runId", tenant_id as "tenantId", task_id as "taskId" from headgate.run where id = any ($1::uuid[])`,
);

/** Dispatched items that nobody has hinted for long: to be hinted again by the caller (REPAIR_HINT_RESENT). */
export const hintOverdue = (pool: Pool, options: LateOptions): Promise<readonly DispatchedItem[]> =>
  pool.transaction(async (c) => {
    const items = await dispatchedItems.dueHints(c, options.lateByMs, options.limit);
    if (items.length === 0) return [];
    const numbers = new Map(items.map((item) => [item.runId, item.dispatchNo]));
    const owners = await c.run<{ runId: RunId; tenantId: number; taskId: TaskId }>(ownersOf, [
      [...numbers.keys()],
    ]);
    await runEvents.append(
      c,
      owners.map((owner) => ({
        ...owner,
        type: 'repair.hinted',
        reasonCode: 'REPAIR_HINT_RESENT',
        actor: options.actor,
        data: { dispatchNo: numbers.get(owner.runId) },
      })),
    );
    return items;
  });

/** A hint as it lies in Redis, and what the database knows of it. */
export interface HintStanding {
  readonly runId: RunId;
  readonly dispatchNo: number;
  /** Its item is that dispatch still. */
  readonly isStanding: boolean;
  /** Null: there is no such run. */
  readonly tenantId: number | null;
  readonly taskId: TaskId | null;
}

const hintStandings = statement(
  'repair.hint_standings',
  `select h.run_id as "runId", h.dispatch_no as "dispatchNo", q.run_id is not null as "isStanding",
          r.tenant_id as "tenantId", r.task_id as "taskId"
     from unnest($1::uuid[], $2::int[]) as h(run_id, dispatch_no)
     left join headgate.run r on r.id = h.run_id
     left join headgate.queue_item q
       on q.run_id = h.run_id and q.dispatch_no = h.dispatch_no and q.state = 'dispatched'`,
);

/** Which hints still speak of a dispatch that stands. A hint is published after its dispatch has committed. */
export const readHintStandings = (
  c: Connection,
  hints: readonly { readonly runId: RunId; readonly dispatchNo: number }[],
): Promise<readonly HintStanding[]> =>
  hints.length === 0
    ? Promise.resolve([])
    : c.run<HintStanding>(hintStandings, [
        hints.map((hint) => hint.runId),
        hints.map((hint) => hint.dispatchNo),
      ]);

/** Tells of hints that were removed, as far as their runs are known (REPAIR_HINT_REMOVED). */
export const tellHintsRemoved = (
  c: Connection,
  hints: readonly HintStanding[],
  options: RepairOptions,
): Promise<number> =>
  runEvents.append(
    c,
    hints.flatMap(({ runId, taskId, tenantId, dispatchNo }) =>
      tenantId === null
        ? []
        : [
            {
              tenantId,
              runId,
              taskId,
              type: 'repair.hint_removed',
              reasonCode: 'REPAIR_HINT_REMOVED' as const,
              actor: options.actor,
              data: { dispatchNo },
            },
          ],
    ),
  );

/** Workers are nobody's tenant's. */
const NO_TENANT = 0;

/** Workers whose heartbeat is older than two TTLs: DEAD (REPAIR_WORKER_DEAD). Their leases run out by themselves. */
export const declareWorkersDead = (
  pool: Pool,
  limit: number,
  options: RepairOptions,
): Promise<readonly { readonly id: WorkerId; readonly name: string }[]> =>
  pool.transaction(async (c) => {
    const dead = await workers.declareDead(c, limit);
    await runEvents.append(
      c,
      dead.map(({ id, name }) => ({
        tenantId: NO_TENANT,
        runId: null,
        taskId: null,
        type: 'repair.worker_dead',
        reasonCode: 'REPAIR_WORKER_DEAD',
        actor: options.actor,
        data: { workerId: id, name },
      })),
    );
    return dead;
  });

export interface PromotedSignal {
  readonly id: DeferredId;
  readonly tenantId: number;
  readonly receiptId: ReceiptId;
  readonly taskId: TaskId | null;
}

/** Tells of deferred signals that were decided late (REPAIR_DUE_PROMOTED); their new receipts name the old ones. */
export const tellPromotedLate = (
  c: Connection,
  signals: readonly PromotedSignal[],
  options: RepairOptions,
): Promise<number> =>
  runEvents.append(
    c,
    signals.map(({ id, tenantId, taskId, receiptId }) => ({
      tenantId,
      runId: null,
      taskId,
      type: 'repair.promoted',
      reasonCode: 'REPAIR_DUE_PROMOTED',
      actor: options.actor,
      data: { deferredId: id, receiptId },
    })),
  );

/** Latches that wait for a run which is gone: due now (REPAIR_LATCH_RELEASED). */
export const releaseOrphanLatches = (
  pool: Pool,
  limit: number,
  options: RepairOptions,
): Promise<readonly { readonly taskId: TaskId }[]> =>
  pool.transaction((c) => deferredSignals.releaseOrphanLatches(c, limit, options.actor));
