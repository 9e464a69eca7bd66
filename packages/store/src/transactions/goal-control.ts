/**
 * What people do with a goal: pause, resume, reset. Each waits for the goal's row, so a keeper's step is whole before
 * or after it; what is under way (an observation, the agent) goes on and is looked at when the goal is active again.
 */
import { type GoalId, isTerminal } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { type GoalRow, goals } from '../tables/goals.js';
import { runEvents } from '../tables/run-events.js';
import type { ControlOptions } from './schedule-control.js';

export type GoalControlled = 'done' | 'already' | 'unknown' | 'ended' | 'busy';

export const pauseGoal = (
  pool: Pool,
  id: GoalId,
  { actor, note, ...scope }: ControlOptions & { readonly note: string | null },
): Promise<GoalControlled> =>
  pool.transaction(async (c) => {
    const row = await goals.lockById(c, id);
    if (row === null) return 'unknown';
    if (row.state === 'paused') return 'already';
    if (row.state !== 'active') return 'ended';
    await goals.setState(c, id, { state: 'paused', by: actor, reasonCode: null, note, receiptId: null });
    await tell(c, row, 'goal.paused', actor, { note });
    return 'done';
  }, scope);

export const resumeGoal = (
  pool: Pool,
  id: GoalId,
  { actor, ...scope }: ControlOptions,
): Promise<GoalControlled> =>
  pool.transaction(async (c) => {
    const row = await goals.lockById(c, id);
    if (row === null) return 'unknown';
    if (row.state === 'active') return 'already';
    if (row.state !== 'paused') return 'ended';
    await goals.setState(c, id, {
      state: 'active',
      by: actor,
      reasonCode: null,
      note: null,
      receiptId: null,
    });
    await tell(c, row, 'goal.resumed', actor, {});
    return 'done';
  }, scope);

/** Begins anew, with all its bounds; not while one of its runs lives. */
export const resetGoal = (
  pool: Pool,
  id: GoalId,
  { actor, reason, ...scope }: ControlOptions & { readonly reason: string | null },
): Promise<GoalControlled> =>
  pool.transaction(async (c) => {
    const row = await goals.lockById(c, id);
    if (row === null) return 'unknown';
    const run = row.runId === null ? null : await goals.runEnd(c, row.runId);
    if (run !== null && !isTerminal(run.status)) return 'busy';
    await goals.reset(c, id, actor, null);
    await tell(c, row, 'goal.reset', actor, { reason });
    return 'done';
  }, scope);

const tell = (c: Connection, { id, tenantId, route }: GoalRow, type: string, actor: string, data: object) =>
  runEvents.append(c, [
    {
      tenantId,
      runId: null,
      taskId: null,
      type,
      reasonCode: null,
      actor,
      data: { goalId: id, route, ...data },
    },
  ]);
