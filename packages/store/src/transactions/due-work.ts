/**
 * What waits for a scheduler, in one look: whether there is anything to dispatch, promote, expire, hint again or
 * take back. An idle system is asked this once a second and nothing else.
 */
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface DueWork {
  /** The active policy; null before the first activation. */
  readonly policyVersion: number | null;
  /** Something is ready to be dispatched. */
  readonly ready: boolean;
  /** A delayed item is due, an item has outlived its time, or a hint was not answered. */
  readonly items: boolean;
  /** A deferred signal or a released latch is due. */
  readonly signals: boolean;
  /** Something waits or runs: there may be something to do a moment later that nobody tells of. */
  readonly waits: boolean;
}

// Each is one descent of an index: queue_item_ready, _delayed, _expiry, _dispatched, deferred_signal_due, primary keys. The
// first of an order, and not `exists`: for that the planner scans the table, hoping to meet one soon.
const look = statement(
  'due_work.look',
  `select (select policy_version from headgate.policy_head) as "policyVersion",
          (select run_id from headgate.queue_item where state = 'ready'
            order by queue_id, tenant_id, rank_at, run_id limit 1) is not null as ready,
          coalesce((select visible_at from headgate.queue_item where state = 'delayed'
                     order by visible_at, run_id limit 1) <= statement_timestamp(), false)
          or coalesce((select expires_at from headgate.queue_item where expires_at is not null
                        order by expires_at, run_id limit 1) <= statement_timestamp(), false)
          or coalesce((select dispatched_at from headgate.queue_item where state = 'dispatched'
                        order by dispatched_at, run_id limit 1)
                      < statement_timestamp() - $1 * interval '1 millisecond', false) as items,
          coalesce((select due_at from headgate.deferred_signal order by due_at limit 1) <= statement_timestamp(),
                   false) as signals,
          coalesce((select run_id from headgate.queue_item order by run_id limit 1),
                   (select run_id from headgate.lease order by run_id limit 1),
                   (select id from headgate.deferred_signal order by id limit 1)) is not null as waits`,
);

export const dueWork = {
  /** @param unansweredAfterMs how long a dispatched item may wait for its claim before anything is done about it */
  look: async (c: Connection, unansweredAfterMs: number): Promise<DueWork> => {
    const [row] = await c.run<DueWork & { policyVersion: number | null }>(look, [unansweredAfterMs]);
    return row ?? { policyVersion: null, ready: false, items: false, signals: false, waits: false };
  },
};

export interface QueueDepth {
  readonly queue: string;
  readonly state: 'delayed' | 'ready' | 'dispatched';
  readonly items: number;
  readonly oldestAgeSeconds: number;
}

// For a scrape: bounded, so a queue of a million counts as `$1` and costs no more than that.
const depths = statement(
  'due_work.depths',
  `select d.key as queue, few.state, count(*)::int as items,
          greatest(0, extract(epoch from clock_timestamp() - min(few.enqueued_at)))::float8 as "oldestAgeSeconds"
     from (select queue_id, state, enqueued_at from headgate.queue_item limit $1) few
     join headgate.dimension d on d.id = few.queue_id
    group by d.key, few.state`,
);

export const queueDepths = (c: Connection, most: number): Promise<QueueDepth[]> =>
  c.run<QueueDepth>(depths, [most]);
