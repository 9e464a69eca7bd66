/**
 * approval: what a person is asked about a run, and what was said (security 4).
 *
 * Who writes: the finish of an attempt and admission ask, in the transaction that makes the run wait; a person's word,
 * the expiry and whatever else ends the run decide, under the run's row lock. So an open row and WAITING_APPROVAL come
 * and go together, and of two words the second finds the first. Lock order: run, then this row.
 */
import type {
  ApprovalId,
  ApprovalOutcome,
  ApprovalRequest,
  ApprovalSubject,
  ProposedOperation,
  RunId,
} from '@headgate/domain';
import { APPROVAL_TTL_MS } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { json, plainText } from '../connection/rows.js';
import { statement } from '../connection/statement.js';

export interface NewApproval {
  readonly runId: RunId;
  readonly subject: ApprovalSubject;
  /** The version that asks. */
  readonly policyVersion: number;
  readonly operations: readonly ProposedOperation[];
  readonly fourEyes: boolean;
}

export type OpenApproval = Pick<ApprovalRequest, 'subject' | 'requester' | 'fourEyes' | 'expiresAt'> & {
  readonly runId: RunId;
};

// The sealed result is what the seal says it is: no caller tells its hash. Index: run_pkey, seal_pkey.
const request = statement(
  'approval.request',
  `insert into headgate.approval
     (id, tenant_id, run_id, subject, policy_version, result_hash, operations, requester, four_eyes, expires_at)
   select headgate.uuid7(), r.tenant_id, r.id, g.subject, g.policy_version, s.hash, g.operations, r.actor, g.four_eyes,
          clock_timestamp() + $6 * interval '1 millisecond'
     from unnest($1::uuid[], $2::text[], $3::int[], $4::jsonb[], $5::boolean[])
          as g(run_id, subject, policy_version, operations, four_eyes)
     join headgate.run r on r.id = g.run_id
     left join headgate.seal s on s.run_id = r.id`,
);
const columns = `id, subject, policy_version as "policyVersion", encode(result_hash, 'hex') as "resultSha256", operations,
  requester, four_eyes as "fourEyes", requested_at as "requestedAt", expires_at as "expiresAt", outcome,
  decided_at as "decidedAt", decided_by as "decidedBy", reason`;
// Index: approval_run.
const newest = statement(
  'approval.newest',
  `select ${columns} from headgate.approval
    where run_id = $1 and ($2::uuid is null or id = $2) order by id desc limit 1`,
);
// Index: approval_open.
const open = statement(
  'approval.open',
  `select run_id as "runId", subject, requester, four_eyes as "fourEyes", expires_at as "expiresAt"
     from headgate.approval where run_id = any ($1::uuid[]) and outcome is null`,
);
// Index: approval_open.
const decide = statement(
  'approval.decide',
  `update headgate.approval a
      set outcome = $2, decided_at = clock_timestamp(), decided_by = $3, reason = $4
    where a.run_id = any ($1::uuid[]) and a.outcome is null`,
);
// Without a lock: whoever acts on them locks the run and looks again. Index: approval_due.
const overdue = statement(
  'approval.overdue',
  `select run_id as "runId" from headgate.approval
    where outcome is null and expires_at <= statement_timestamp()
    order by expires_at, run_id limit $1`,
);

// A word is kept as long as the receipts that tell of its run, from when it was said, and while its run may still act by it.
// Asked before that: by the time in its id. Index: the key, then run_pkey for each.
const forget = statement(
  'approval.forget',
  `with old as materialized (
     select a.id from headgate.approval a
      where a.id < headgate.uuid7_floor(statement_timestamp() - $2 * interval '1 day')
        and a.decided_at < statement_timestamp() - $2 * interval '1 day'
        and coalesce((select r.finished_at is not null from headgate.run r where r.id = a.run_id), true)
      order by a.id limit $1
   )
   delete from headgate.approval a using old where a.id = old.id`,
);

export const approvals = {
  /** At most so many that were answered longer ago than the days given, of runs that have ended. */
  forget: (c: Connection, limit: number, days: number): Promise<number> => c.count(forget, [limit, days]),
  /** For runs that this transaction makes wait. */
  request: (c: Connection, rows: readonly NewApproval[]): Promise<number> =>
    rows.length === 0
      ? Promise.resolve(0)
      : c.count(request, [
          rows.map((row) => row.runId),
          rows.map((row) => row.subject),
          rows.map((row) => row.policyVersion),
          rows.map((row) => json(row.operations)),
          rows.map((row) => row.fourEyes),
          APPROVAL_TTL_MS,
        ]),
  /** The named request of the run, else its newest; null: there is none. */
  of: async (
    c: Connection,
    runId: RunId,
    approvalId: ApprovalId | null = null,
  ): Promise<ApprovalRequest | null> =>
    (await c.run<ApprovalRequest>(newest, [runId, approvalId]))[0] ?? null,
  /** What nobody has answered yet of these runs. */
  open: (c: Connection, runIds: readonly RunId[]): Promise<OpenApproval[]> =>
    runIds.length === 0 ? Promise.resolve([]) : c.run<OpenApproval>(open, [runIds]),
  /** Closes what is open of these runs, whose rows the transaction holds. */
  decide: (
    c: Connection,
    runIds: readonly RunId[],
    outcome: ApprovalOutcome,
    by: { readonly actor: string; readonly reason: string | null },
  ): Promise<number> =>
    runIds.length === 0
      ? Promise.resolve(0)
      : c.count(decide, [runIds, outcome, by.actor, plainText(by.reason)]),
  /** Runs whose request has run out, the longest first. */
  overdue: async (c: Connection, limit: number): Promise<RunId[]> =>
    (await c.run<{ runId: RunId }>(overdue, [limit])).map((row) => row.runId),
};
