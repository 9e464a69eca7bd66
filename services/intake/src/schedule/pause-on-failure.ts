/**
 * `pauseOnFailure`: a run that a tick of the schedule led to and that ended FAILED, with nothing left to try, pauses
 * it. A cancelled, superseded or refused run does not. Asked before each tick, under the row's lock, so that none is
 * fired after the failure; and at every look, so that people see it before the next tick.
 */
import { formatId } from '@headgate/domain';
import { type Connection, type Pool, pauseLocked, type ScheduleRow, schedules } from '@headgate/store';

/** The row is locked by the caller. */
export async function pauseIfFailed(c: Connection, row: ScheduleRow): Promise<boolean> {
  if (!row.spec.pauseOnFailure || row.state !== 'active') return false;
  const failed = await schedules.newestFailure(c, row.id, row.resumedAt);
  if (failed === null) return false;
  const note = `${formatId('run', failed.runId)} failed with ${failed.reasonCode ?? 'no reason'}.`;
  await pauseLocked(c, row, 'schedule', note, null);
  return true;
}

/** Returns how many were paused. */
export async function pauseFailed(pool: Pool): Promise<number> {
  const watched = await pool.use((c) => schedules.watched(c));
  let paused = 0;
  for (const { id, resumedAt } of watched) {
    const failed = await pool.use((c) => schedules.newestFailure(c, id, resumedAt));
    if (failed === null) continue;
    const isPaused = await pool.transaction(async (c) => {
      const row = await schedules.lockById(c, id);
      return row !== null && (await pauseIfFailed(c, row));
    });
    if (isPaused) paused += 1;
  }
  return paused;
}
