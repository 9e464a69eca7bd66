/**
 * Items that are dispatched: offered to workers under a dispatch number, and taken back where nobody claims.
 *
 * Who writes: a dispatcher under its lock marks; upkeep hints again and takes back; the activation of a policy takes back
 * all. Each locks its items in an order of its own with SKIP LOCKED, or in run id order.
 */
import type { RunId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

/** What a hint is made of. */
const OFFER = `q.run_id as "runId", q.dispatch_no as "dispatchNo", q.queue_id as "queueId", q.tenant_id as "tenantId",
             (select r.traceparent from headgate.run r where r.id = q.run_id) as traceparent`;
const BACK_TO_READY = `state = 'ready', dispatched_at = null, hinted_at = null, verdict = null, verdict_at = null`;

// As text, or the planner may read all that is ready by the index of what is. Index: queue_item_pkey.
const markDispatched = statement(
  'queue_item.mark_dispatched',
  `with chosen as materialized (
     select run_id from headgate.queue_item where run_id = any ($1::uuid[]) and state::text = 'ready'
      order by run_id for update skip locked
   )
   update headgate.queue_item q
      set state = 'dispatched', dispatch_no = q.dispatch_no + 1, dispatched_at = clock_timestamp(),
          hinted_at = clock_timestamp(), verdict = null, verdict_at = null
     from chosen
    where q.run_id = chosen.run_id
   returning ${OFFER}`,
);
// What time alone brings about. Each asks `statement_timestamp()`, which an index can be searched by, where
// `clock_timestamp()` is a filter: all that is due later would be read for what is due now. And each update names its
// rows by an array: to a join with a limit that the planner does not know, it prefers a scan of the whole table.
// Hints that nobody answered. Index: queue_item_dispatched.
const dueHints = statement(
  'queue_item.due_hints',
  `with due as materialized (
     select run_id from headgate.queue_item
      where state = 'dispatched' and dispatched_at < statement_timestamp() - $1 * interval '1 millisecond'
        and hinted_at < statement_timestamp() - $1 * interval '1 millisecond'
      order by dispatched_at, run_id limit $2 for update skip locked
   )
   update headgate.queue_item q set hinted_at = clock_timestamp()
    where q.run_id = any (array (select run_id from due))
   returning ${OFFER}`,
);
const takeBack = statement(
  'queue_item.take_back',
  `with late as materialized (
     select run_id from headgate.queue_item
      where state = 'dispatched' and dispatched_at < statement_timestamp() - $1 * interval '1 millisecond'
      order by dispatched_at, run_id limit $2 for update skip locked
   ), back as (
     update headgate.queue_item q
        set ${BACK_TO_READY}
      where q.run_id = any (array (select run_id from late))
     returning q.run_id, q.tenant_id, q.task_id, q.dispatch_no
   ), told as (
     insert into headgate.run_event (id, tenant_id, run_id, task_id, type, reason_code, actor, data)
     select headgate.uuid7(), tenant_id, run_id, task_id, 'item.taken_back', 'DISPATCH_EXPIRED', $3,
            jsonb_build_object('dispatchNo', dispatch_no)
       from back
   )
   select run_id as "runId" from back`,
);
const undispatchAll = statement(
  'queue_item.undispatch_all',
  `with dispatched as materialized (
     select run_id from headgate.queue_item where state = 'dispatched' order by run_id for update
   ), back as (
     update headgate.queue_item q
        set ${BACK_TO_READY}
       from dispatched d where q.run_id = d.run_id
     returning q.run_id, q.tenant_id, q.task_id, q.dispatch_no
   )
   insert into headgate.run_event (id, tenant_id, run_id, task_id, type, reason_code, actor, data)
   select headgate.uuid7(), tenant_id, run_id, task_id, 'item.taken_back', 'READY', $1,
          jsonb_build_object('dispatchNo', dispatch_no, 'policyVersion', $2::int)
     from back`,
);
export interface DispatchedItem {
  readonly runId: RunId;
  readonly dispatchNo: number;
  readonly queueId: number;
  readonly tenantId: number;
  readonly traceparent: string | null;
}

export const dispatchedItems = {
  mark: (c: Connection, runIds: readonly RunId[]): Promise<DispatchedItem[]> =>
    c.run<DispatchedItem>(markDispatched, [runIds]),
  /** Dispatched items whose hint is older than `olderThanMs`; marks them hinted again. */
  dueHints: (c: Connection, olderThanMs: number, limit: number): Promise<DispatchedItem[]> =>
    c.run<DispatchedItem>(dueHints, [olderThanMs, limit]),
  takeBack: (c: Connection, olderThanMs: number, limit: number, actor: string): Promise<{ runId: RunId }[]> =>
    c.run(takeBack, [olderThanMs, limit, actor]),
  /** Every dispatched item, back to ready: what was chosen under the limits of another policy is chosen anew. */
  takeBackAll: (c: Connection, actor: string, policyVersion: number): Promise<number> =>
    c.count(undispatchAll, [actor, policyVersion]),
};
