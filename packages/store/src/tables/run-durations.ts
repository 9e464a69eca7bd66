/** How long ended runs took, by the database's clock: for metrics. */
import type { RunId, RunStatus } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface RunDuration {
  readonly runId: RunId;
  readonly status: RunStatus;
  /** From the first claim. */
  readonly ranSeconds: number | null;
  /** From the cancel's commit; null when nobody cancelled it. */
  readonly cancelSeconds: number | null;
}

const read = statement(
  'run.durations',
  `select id as "runId", status, extract(epoch from finished_at - started_at)::float8 as "ranSeconds",
          extract(epoch from finished_at - cancel_requested_at)::float8 as "cancelSeconds"
     from headgate.run where id = any ($1::uuid[]) and finished_at is not null`,
);

/** Of the named runs that have ended. */
export const runDurations = (c: Connection, runIds: readonly RunId[]): Promise<RunDuration[]> =>
  runIds.length === 0 ? Promise.resolve([]) : c.run<RunDuration>(read, [runIds]);
