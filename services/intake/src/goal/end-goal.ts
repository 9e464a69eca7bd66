import type { Undertaken } from '@headgate/admission';
import { type Connection, type GoalRow, goals } from '@headgate/store';
import { conclusion } from './goal-signal.js';
import type { KeepOptions } from './keep.js';
import type { GoalPlace } from './place.js';

export interface GoalEnd {
  readonly state: 'done' | 'given-up';
  readonly detail: string;
  readonly watermark: string | null;
}

/** Done or given up, with its receipt; the row is locked by the caller, and its phase is idle. */
export async function endGoal(
  c: Connection,
  row: GoalRow,
  place: GoalPlace,
  { state, detail, watermark }: GoalEnd,
  { admission }: KeepOptions,
): Promise<Undertaken> {
  const reasonCode = state === 'done' ? 'NOTHING_FOUND' : 'GOAL_GIVEN_UP';
  const undertaken = await admission.within(c, [
    conclusion(row, place, {
      reasonCode,
      outcome: state === 'done' ? 'no-work' : 'reject',
      detail,
      rule: state === 'done' ? 'goal.until' : 'goal.stop',
      watermark,
    }),
  ]);
  const receiptId = undertaken.answers[0]?.receiptId ?? null;
  await goals.setState(c, row.id, { state, by: 'goal', reasonCode, note: detail, receiptId });
  return undertaken;
}
