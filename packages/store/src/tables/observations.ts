/** observation: what a goal saw each time, and the receipt of what followed. */
import type { GoalId, ObservationId, ReceiptId, RunId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { json, plainText } from '../connection/rows.js';
import { statement } from '../connection/statement.js';

export interface ObservationRow {
  readonly id: ObservationId;
  readonly goalId: GoalId;
  readonly tenantId: number;
  readonly epoch: number;
  readonly number: number;
  readonly runId: RunId;
  readonly outcome: 'holds' | 'open' | 'unknown';
  readonly ref: string | null;
  readonly version: string | null;
  readonly result: unknown;
  readonly detail: string | null;
  readonly fingerprint: string | null;
  readonly receiptId: ReceiptId | null;
}

// Under the goal's lock: a number is written once.
const insert = statement(
  'observation.insert',
  `insert into headgate.observation
     (id, goal_id, tenant_id, epoch, number, run_id, outcome, ref, version, result, detail, fingerprint, receipt_id)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
);

/** Of each goal, whatever their age. */
const NEWEST_OBSERVATIONS_KEPT = 50;

// Oldest first, from the front of each goal's key. What they add up to stands on the goal's row. Index: the unique key
// of observation (goal, epoch, number), twice for each goal.
const forget = statement(
  'observation.forget',
  `with old as materialized (
     select o.id from headgate.goal g
      cross join lateral (
        select n.epoch, n.number from headgate.observation n where n.goal_id = g.id
         order by n.epoch desc, n.number desc offset ${NEWEST_OBSERVATIONS_KEPT} limit 1) kept
      cross join lateral (
        select b.id from headgate.observation b
         where b.goal_id = g.id and (b.epoch, b.number) <= (kept.epoch, kept.number)
           and b.observed_at < statement_timestamp() - $2 * interval '1 day'
         order by b.epoch, b.number limit $1) o
      limit $1
   )
   delete from headgate.observation o using old where o.id = old.id`,
);

export const observations = {
  /** At most so many that are older than the days given. */
  forget: (c: Connection, limit: number, days: number): Promise<number> => c.count(forget, [limit, days]),
  insert: (c: Connection, o: ObservationRow): Promise<number> =>
    c.count(insert, [
      o.id,
      o.goalId,
      o.tenantId,
      o.epoch,
      o.number,
      o.runId,
      o.outcome,
      o.ref,
      o.version,
      json(o.result),
      plainText(o.detail),
      o.fingerprint,
      o.receiptId,
    ]),
};
