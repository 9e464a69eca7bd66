/**
 * The stages of a leased run. Writes are coalesced by the worker (one statement per batch and target stage); each
 * stage passed leaves its event although one write moved the row.
 *
 * Fence: the lease row, locked, token and id compared, still current. A run in a cancel state does not move: the
 * heartbeat tells the worker why. Lock order: lease, run.
 */
import { isLeased, type LeasedStatus, type RunId, stagesPassed, TRANSITIONS } from '@headgate/domain';
import { HISTORY_OPS } from '@headgate/telemetry';
import { databaseNow } from '../clock.js';
import type { Pool } from '../connection/database.js';
import type { Fence } from '../fence.js';
import { tell } from '../history.js';
import { leases } from '../tables/leases.js';
import { type RunEvent, runEvents } from '../tables/run-events.js';
import { type Move, runs } from '../tables/runs.js';

export interface StageEntry {
  readonly fence: Fence;
  readonly to: LeasedStatus;
  readonly actor: string;
  /** The stages it was really in on the way: each leaves its event. Absent: all that lie between. */
  readonly passed?: readonly LeasedStatus[];
}

/** `moved`: it stands there now. `held`: the lease is ours, but the run may not go there (it is being cancelled). */
export type StageAnswer = 'moved' | 'held' | 'lost';

export async function enterStages(
  pool: Pool,
  entries: readonly StageEntry[],
): Promise<ReadonlyMap<RunId, StageAnswer>> {
  if (entries.length === 0) return new Map();
  for (const { fence } of entries) tell.invoked(HISTORY_OPS.stage, fence);
  try {
    const { answers, committedAt } = await enter(pool, entries);
    for (const { fence, to } of entries) {
      const answer = answers.get(fence.runId) ?? 'lost';
      if (answer === 'moved') tell.took(HISTORY_OPS.stage, fence, { committedAt, to });
      else tell.refused(HISTORY_OPS.stage, fence, { answer, to });
    }
    return answers;
  } catch (fault) {
    for (const { fence } of entries) tell.lost(HISTORY_OPS.stage, fence, fault);
    throw fault;
  }
}

function enter(
  pool: Pool,
  entries: readonly StageEntry[],
): Promise<{ readonly answers: ReadonlyMap<RunId, StageAnswer>; readonly committedAt: Date }> {
  return pool.transaction(async (c) => {
    const held = new Set(
      (
        await leases.lockFenced(
          c,
          entries.map((entry) => entry.fence),
        )
      )
        .filter((lease) => lease.current)
        .map((lease) => lease.runId),
    );
    const standing = new Map((await runs.lock(c, [...held])).map((run) => [run.runId, run]));
    const answers = new Map<RunId, StageAnswer>();
    const moves: Move[] = [];
    const skipped: RunEvent[] = [];
    for (const { fence, to, actor, passed } of entries) {
      const run = standing.get(fence.runId);
      if (run === undefined) {
        answers.set(fence.runId, 'lost');
      } else if (run.status === to) {
        answers.set(fence.runId, 'moved');
      } else if (!isLeased(run.status) || !TRANSITIONS[run.status].includes(to)) {
        answers.set(fence.runId, 'held');
      } else {
        answers.set(fence.runId, 'moved');
        moves.push({ runId: run.runId, from: run.status, to, reasonCode: null, actor, fence });
        const between = stagesPassed(run.status, to).slice(1, -1);
        for (const stage of between.filter((one) => passed?.includes(one) ?? true)) {
          skipped.push({
            tenantId: run.tenantId,
            runId: run.runId,
            taskId: run.taskId,
            type: `run.${stage.toLowerCase()}`,
            reasonCode: null,
            actor,
            fence,
            data: { coalesced: true },
          });
        }
      }
    }
    const [, , committedAt] = await c.last(() =>
      Promise.all([runEvents.append(c, skipped), runs.move(c, moves), databaseNow(c)]),
    );
    return { answers, committedAt };
  });
}
