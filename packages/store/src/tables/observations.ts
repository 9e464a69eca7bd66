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

export const observations = {
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
