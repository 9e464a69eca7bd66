/**
 * A goal whose time has come: its observation is asked for, or its deadline has passed.
 *
 *   (where it stands is read) ─► BEGIN ─► goal locked ─► admission ─► phase observing ─► COMMIT
 *
 * Lock order: goal, then what an admission locks; it stands where a schedule does (SQL rule 8).
 */
import type { Undertaken } from '@headgate/admission';
import { boundReached } from '@headgate/domain';
import { type Connection, type GoalRow, goals } from '@headgate/store';
import { endGoal } from './end-goal.js';
import { observationSubmission } from './goal-signal.js';
import { type KeepOptions, NotTakenError, nextLookAt, type Stepped } from './keep.js';
import { type GoalPlace, placeOf, whereItStands } from './place.js';

export async function look(seen: GoalRow, options: KeepOptions): Promise<Stepped> {
  const { pool, heads, active } = options;
  const place = placeOf(seen, active);
  if (place === null) return { kind: 'passed' };
  const target = await pool.use((c) => whereItStands(c, seen, place, heads));
  let undertaken: Undertaken | null = null;
  const stepped = await pool.transaction(async (c): Promise<Stepped> => {
    undertaken = null;
    const row = await goals.lock(c, seen);
    if (row === null) return { kind: 'passed' };
    const late = await ifTooLate(c, row, place, options);
    if (late !== null) {
      undertaken = late;
      return { kind: 'given-up' };
    }
    undertaken = await options.admission.within(c, [observationSubmission(row, place, target)]);
    const [answer] = undertaken.answers;
    if (answer?.outcome === 'defer') throw new NotTakenError(answer);
    if (answer?.outcome === 'accept' && answer.runId !== null) {
      await goals.begin(c, row.id, 'observing', answer.runId, true);
      return { kind: 'observing', runId: answer.runId };
    }
    await goals.rest(c, row.id, { nextAt: nextLookAt(row), costUsd: 0, ranAgent: false });
    return { kind: 'refused', reasonCode: answer?.reasonCode ?? null };
  });
  options.committed(undertaken);
  return stepped;
}

/** Past its deadline there is nothing to look at any more. */
async function ifTooLate(
  c: Connection,
  row: GoalRow,
  place: GoalPlace,
  options: KeepOptions,
): Promise<Undertaken | null> {
  const reached = boundReached(row.spec.stop, row, row.now);
  if (reached?.bound !== 'deadline') return null;
  return endGoal(c, row, place, { state: 'given-up', detail: reached.detail, watermark: null }, options);
}
