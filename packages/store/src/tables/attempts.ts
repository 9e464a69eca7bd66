/** attempt: one try at running a run. Keeps the lease's history after the lease is gone (Q6). */
import type { AttemptId, LeaseId, ReasonCode, RunId, WorkerId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { json, plainText } from '../connection/rows.js';
import { statement } from '../connection/statement.js';
import type { Fence } from '../fence.js';

export type AttemptStatus = 'running' | 'succeeded' | 'failed' | 'cancelled' | 'lost' | 'released';

// Copies what the lease says, and the number that the run was given when it moved to CLAIMED. Index: run_pkey, once for
// each: `offset 0` keeps the planner from a merge join, which walks through the runs from the first to the last of these.
const start = statement(
  'attempt.start',
  `insert into headgate.attempt (id, tenant_id, run_id, number, worker_id, lease_id, fencing_token)
   select l.attempt_id, l.tenant_id, l.run_id, r.attempt_no, l.worker_id, l.lease_id, l.fencing_token
     from headgate.lease l
    cross join lateral (select attempt_no from headgate.run where id = l.run_id offset 0) r
    where l.run_id = any ($1::uuid[]) and l.lease_id = any ($2::uuid[])
   returning run_id as "runId", number`,
);
// Takes over what its lease says of renewals, so it comes before the lease's release. Index: attempt_pkey, lease_pkey.
const finish = statement(
  'attempt.finish',
  `update headgate.attempt a
      set status = g.status, reason_code = g.reason_code, detail = g.detail, finished_at = clock_timestamp(),
          cost_usd = g.cost_usd, evidence = g.evidence,
          (lease_renewals, lease_renewed_at, lease_expires_at) = (
            select l.renewals, l.renewed_at, l.expires_at from headgate.lease l
             where l.run_id = a.run_id and l.lease_id = a.lease_id)
     from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::numeric[], $6::jsonb[])
          as g(id, status, reason_code, detail, cost_usd, evidence)
    where a.id = g.id and a.status = 'running'
   returning a.run_id as "runId", a.finished_at as "finishedAt"`,
);

// Index: the unique key (run_id, number).
const running = statement(
  'attempt.running_of',
  `select id as "attemptId", run_id as "runId", worker_id as "workerId", lease_id as "leaseId",
          fencing_token::text as "fencingToken"
     from headgate.attempt where run_id = any ($1::uuid[]) and status = 'running' order by run_id, number`,
);

export interface RunningAttempt extends Fence {
  readonly attemptId: AttemptId;
  readonly workerId: WorkerId;
}

export interface AttemptEnd {
  readonly attemptId: AttemptId;
  readonly status: Exclude<AttemptStatus, 'running'>;
  readonly reasonCode: ReasonCode | null;
  readonly detail: string | null;
  readonly costUsd: number;
  readonly evidence: unknown;
}

export const attempts = {
  /** One new attempt for each of these leases that this transaction has taken, and whose run it has moved to CLAIMED. */
  start: (
    c: Connection,
    runIds: readonly RunId[],
    leaseIds: readonly LeaseId[],
  ): Promise<{ runId: RunId; number: number }[]> => c.run(start, [runIds, leaseIds]),
  /** Attempts of these runs that nobody has ended. */
  running: (c: Connection, runIds: readonly RunId[]): Promise<RunningAttempt[]> =>
    runIds.length === 0 ? Promise.resolve([]) : c.run<RunningAttempt>(running, [runIds]),
  finish: (c: Connection, rows: readonly AttemptEnd[]): Promise<{ runId: RunId; finishedAt: Date }[]> =>
    rows.length === 0
      ? Promise.resolve([])
      : c.run(finish, [
          rows.map((row) => row.attemptId),
          rows.map((row) => row.status),
          rows.map((row) => row.reasonCode),
          rows.map((row) => plainText(row.detail)),
          rows.map((row) => row.costUsd),
          rows.map((row) => json(row.evidence)),
        ]),
};
