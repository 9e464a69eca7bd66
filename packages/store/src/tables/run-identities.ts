/** Which run a line of a log is about: for people who search the log by any name of it. */
import type { LeaseId, RunId, WorkerId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface RunIdentity {
  readonly runId: RunId;
  readonly tenant: string;
  readonly workKey: string;
  readonly traceparent: string | null;
  /** Of its newest attempt; null before the first. */
  readonly attempt: number | null;
  readonly leaseId: LeaseId | null;
  readonly workerId: WorkerId | null;
}

// Indexes: the keys of run, task and tenant; attempt by (run, number).
const read = statement(
  'run.identities',
  `select r.id as "runId", t.key as tenant, k.work_key as "workKey", r.traceparent, a.number as attempt,
          a.lease_id as "leaseId", a.worker_id as "workerId"
     from headgate.run r
     join headgate.tenant t on t.id = r.tenant_id
     join headgate.task k on k.id = r.task_id
     left join lateral (
       select number, lease_id, worker_id from headgate.attempt where run_id = r.id order by number desc limit 1) a on true
    where r.id = any ($1::uuid[])`,
);

export const runIdentities = {
  read: async (c: Connection, runIds: readonly RunId[]): Promise<ReadonlyMap<RunId, RunIdentity>> =>
    runIds.length === 0
      ? new Map()
      : new Map((await c.run<RunIdentity>(read, [runIds])).map((row) => [row.runId, row])),
};
