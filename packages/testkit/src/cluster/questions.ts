/** What a test asks the database of its cluster. */
import type { RunStatus } from '@headgate/domain';
import type { Pool } from 'pg';

export interface ClusterRun {
  readonly id: string;
  readonly taskId: string;
  readonly status: RunStatus;
  readonly reasonCode: string | null;
  readonly workKey: string;
  readonly route: string;
  readonly attemptNo: number;
  readonly branch: string | null;
  readonly sealed: boolean;
}

export interface ClusterAttempt {
  readonly number: number;
  readonly status: string;
  readonly reasonCode: string | null;
  readonly workerId: string;
  readonly leaseId: string;
}

const RUNS = `
  select r.id, r.task_id as "taskId", r.status, r.reason_code as "reasonCode", t.work_key as "workKey", r.route,
         r.attempt_no as "attemptNo", r.branch, r.sealed_at is not null as sealed
    from headgate.run r join headgate.task t on t.id = r.task_id
   where $1::uuid[] is null or r.id = any ($1::uuid[]) order by r.id`;
const ATTEMPTS = `
  select number, status, reason_code as "reasonCode", worker_id as "workerId", lease_id as "leaseId"
    from headgate.attempt where run_id = $1 order by number`;
/** Anything that will still move by itself; a proposal waits for a person. */
const MOVING = `
  select (select count(*) from headgate.run
           where status not in ('SUCCEEDED', 'FAILED', 'CANCELLED', 'NO_WORK', 'SUPERSEDED', 'EXPIRED', 'POLICY_DENIED',
                                'WAITING_APPROVAL'))::int as runs,
         (select count(*) from headgate.lease)::int as leases,
         (select count(*) from headgate.queue_item)::int as items,
         (select count(*) from headgate.operation where state in ('attempted', 'ambiguous'))::int as operations,
         (select count(*) from headgate.deferred_signal)::int as deferred`;

export interface Moving {
  readonly runs: number;
  readonly leases: number;
  readonly items: number;
  readonly operations: number;
  readonly deferred: number;
}

export class Questions {
  /** A pool, since a drill may kill its sessions. */
  constructor(private readonly client: Pool) {}

  /** All of them, or those named. */
  async runs(ids: readonly string[] | null = null): Promise<readonly ClusterRun[]> {
    return (await this.client.query<ClusterRun>(RUNS, [ids])).rows;
  }

  async run(id: string): Promise<ClusterRun> {
    const [run] = await this.runs([id]);
    if (run === undefined) throw new Error(`there is no run ${id}`);
    return run;
  }

  async attempts(runId: string): Promise<readonly ClusterAttempt[]> {
    return (await this.client.query<ClusterAttempt>(ATTEMPTS, [runId])).rows;
  }

  async moving(): Promise<Moving> {
    const [row] = (await this.client.query<Moving>(MOVING)).rows;
    if (row === undefined) throw new Error('the database did not answer');
    return row;
  }

  /** One number: `count('headgate.receipt where kind = $1', 'decision')`. */
  async count(from: string, ...values: readonly unknown[]): Promise<number> {
    const { rows } = await this.client.query<{ n: number }>(`select count(*)::int as n from ${from}`, [
      ...values,
    ]);
    return rows[0]?.n ?? 0;
  }

  /** Deadlocks that Postgres has broken in this database. */
  async deadlocks(): Promise<number> {
    const { rows } = await this.client.query<{ n: number }>(
      'select deadlocks::int as n from pg_stat_database where datname = current_database()',
    );
    return rows[0]?.n ?? 0;
  }
}
