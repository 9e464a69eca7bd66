/** What happened lately, one line each, for people who watch: decisions and the steps of runs. */
import type { ReasonCode, ReceiptId, RunId, RunStatus } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export type Activity =
  | {
      readonly kind: 'decision';
      readonly id: ReceiptId;
      readonly at: Date;
      readonly outcome: string;
      readonly reasonCode: ReasonCode;
      readonly trigger: string;
      readonly type: string;
      readonly route: string | null;
      readonly repository: string | null;
      readonly runId: RunId | null;
    }
  | {
      readonly kind: 'step';
      readonly id: string;
      readonly at: Date;
      readonly status: RunStatus;
      readonly reasonCode: ReasonCode | null;
      readonly runId: RunId;
      readonly route: string;
      readonly repository: string | null;
      readonly branch: string | null;
      readonly attempt: number | null;
    };

// Ids are in order of time, so both halves walk the end of a primary key: receipt_pkey and run_event_pkey.
const decisionsSince = statement(
  'receipt.decisions_since',
  `select 'decision' as kind, id, created_at as at, outcome, reason_code as "reasonCode", trigger, type, route,
          repository, run_id as "runId"
     from headgate.receipt
    where id >= $1 and kind = 'decision'
    order by id limit $2`,
);
const stepsSince = statement(
  'run_event.steps_since',
  `select 'step' as kind, e.id, e.at, e.to_status as status, e.reason_code as "reasonCode", e.run_id as "runId",
          r.route, r.spec->'repository'->>'fullName' as repository, r.branch, e.attempt_no as attempt
     from headgate.run_event e join headgate.run r on r.id = e.run_id
    where e.id >= $1 and e.to_status is not null
    order by e.id limit $2`,
);

export const activity = {
  /**
   * Decisions and steps whose ids are not below `from` (a UUIDv7), oldest first, at most `limit` of each. A row can
   * commit after a later one: ask again from some seconds back, and leave out what was seen.
   */
  since: async (c: Connection, from: string, limit: number): Promise<Activity[]> => {
    const [decisions, steps] = await Promise.all([
      c.run<Extract<Activity, { kind: 'decision' }>>(decisionsSince, [from, limit]),
      c.run<Extract<Activity, { kind: 'step' }>>(stepsSince, [from, limit]),
    ]);
    return [...decisions, ...steps].sort((a, b) => a.at.getTime() - b.at.getTime());
  },
};
