/** Which attempts a run has had, for what lies on disk under their numbers. */
import type { RunId } from '@headgate/domain';
import type { Connection } from '@headgate/store';
import { sql } from 'drizzle-orm';
import { rows } from './read.js';

export interface AttemptNumber {
  readonly number: number;
  readonly isRunning: boolean;
}

/** Oldest first; none: no attempt, no such run, or not the caller's. */
export const attemptNumbers = (c: Connection, runId: RunId): Promise<AttemptNumber[]> =>
  rows<AttemptNumber>(
    c,
    sql`select number, status = 'running' as "isRunning" from headgate.attempt
         where run_id = ${runId}::uuid order by number`,
  );

/** Whether there is such a run, for the caller. */
export async function runExists(c: Connection, runId: RunId): Promise<boolean> {
  const found = await rows(c, sql`select 1 as found from headgate.run where id = ${runId}::uuid`);
  return found.length > 0;
}
