/** Items whose time has come: delayed ones that are due, and those that waited longer than they may. */
import type { RunId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';
import type { ReadyPair } from './ready-items.js';

// `statement_timestamp()`, and rows named by an array: see dispatched-items.
const dueDelayed = statement(
  'queue_item.promote_due',
  `with due as materialized (
     select run_id from headgate.queue_item where state = 'delayed' and visible_at <= statement_timestamp()
      order by visible_at, run_id limit $1 for update skip locked
   )
   update headgate.queue_item q set state = 'ready', waits = null
    where q.run_id = any (array (select run_id from due))
   returning q.run_id as "runId", q.tenant_id as "tenantId", q.queue_id as "queueId"`,
);
const lockExpired = statement(
  'queue_item.lock_expired',
  `select run_id as "runId" from headgate.queue_item
    where expires_at is not null and expires_at <= statement_timestamp()
    order by expires_at, run_id limit $1 for update skip locked`,
);
export const dueItems = {
  promote: (c: Connection, limit: number): Promise<(ReadyPair & { runId: RunId })[]> =>
    c.run(dueDelayed, [limit]),
  lockExpired: (c: Connection, limit: number): Promise<{ runId: RunId }[]> => c.run(lockExpired, [limit]),
};
