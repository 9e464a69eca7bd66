/**
 * A person's word on a run that waits for one, and the end of a request that nobody answered.
 *
 * Races. All lock the task (a newer version's admission holds it), then the run, and judge by what stands there:
 *  - two words at once: the second finds the first one's outcome, and is told the same or why not.
 *  - a word against a supersede or a cancel: whoever locks first wins. After a publish the run is QUEUED with an item,
 *    and the stop takes both; after a stop the request is withdrawn, and the word is refused.
 *  - a word against the expiry: the clock is read under the lock, so a request that has run out is refused although
 *    nobody has ended it yet, and the expiry passes over one that was just answered.
 * The item is inserted under the run's lock: no item of a waiting run can be there, so nobody who holds one waits for us.
 * Crash before COMMIT: nothing was said. COMMIT without an answer: said again, it is `already`.
 */
import {
  type ApprovalId,
  answerWord,
  type ReasonCode,
  type RunId,
  type RunStatus,
  type TaskId,
  type Word,
  type WordAnswer,
} from '@headgate/domain';
import { databaseNow } from '../clock.js';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { approvals } from '../tables/approvals.js';
import { type RestoredItem, restoredItems } from '../tables/restored-items.js';
import { type LockedRun, runs } from '../tables/runs.js';
import { tasks } from '../tables/tasks.js';
import { closeRuns, walk } from './end-runs.js';

export interface Said {
  readonly word: Word;
  readonly runId: RunId;
  /** Null: the newest request. */
  readonly approvalId: ApprovalId | null;
  readonly actor: string;
  readonly reason: string | null;
  /** What the run's item would be, made from its row beforehand (a specification never changes). */
  readonly item: RestoredItem;
  /** Tenants the caller may touch; absent for the services' own role. */
  readonly tenants?: readonly number[];
}

export interface Heard {
  readonly answer: WordAnswer;
  /** As the run stands now. */
  readonly status: RunStatus;
}

const tasksOf = statement(
  'approval.tasks_of',
  'select distinct task_id as "taskId" from headgate.run where id = any ($1::uuid[])',
);

/** Null: no such run (or not the caller's). */
export function sayWord(pool: Pool, said: Said): Promise<Heard | null> {
  const { tenants } = said;
  return pool.transaction((c) => sayOnce(c, said), tenants === undefined ? {} : { tenants });
}

async function sayOnce(c: Connection, said: Said): Promise<Heard | null> {
  const { runId, word, actor, reason } = said;
  const [run] = await lockWithTasks(c, [runId]);
  if (run === undefined) return null;
  const [request, now] = await Promise.all([approvals.of(c, runId, said.approvalId), databaseNow(c)]);
  const answer = answerWord({ word, actor, status: run.status, request, nowMs: now.getTime() });
  if (answer.kind !== 'taken') return { answer, status: run.status };
  const { outcome, steps, reasonCode } = answer.meaning;
  await approvals.decide(c, [runId], outcome, { actor, reason });
  if (outcome === 'approved') await restoredItems.insert(c, [said.item]);
  const data = { approvalId: answer.request.id, reason };
  await walk(c, [{ runId, from: run.status, actor, steps: steps.map((to) => ({ to, reasonCode, data })) }]);
  if (outcome === 'declined') await closeRuns(c, [runId]);
  return { answer, status: steps.at(-1) ?? run.status };
}

/** Tasks in their order, then runs in theirs. */
async function lockWithTasks(c: Connection, runIds: readonly RunId[]): Promise<readonly LockedRun[]> {
  const found = await c.run<{ taskId: TaskId }>(tasksOf, [runIds]);
  if (found.length === 0) return [];
  await tasks.lockById(
    c,
    found.map((row) => row.taskId),
  );
  return runs.lock(c, runIds);
}

const EXPIRED: ReasonCode = 'APPROVAL_EXPIRED';

/** Requests that nobody answered in time: their runs are EXPIRED (APPROVAL_EXPIRED). Returns those. */
export function expireApprovals(
  pool: Pool,
  runIds: readonly RunId[],
  actor: string,
): Promise<readonly RunId[]> {
  if (runIds.length === 0) return Promise.resolve([]);
  return pool.transaction(async (c) => {
    const waiting = new Set(
      (await lockWithTasks(c, runIds))
        .filter((run) => run.status === 'WAITING_APPROVAL')
        .map((run) => run.runId),
    );
    const [open, now] = await Promise.all([approvals.open(c, runIds), databaseNow(c)]);
    const overdue = open.filter((one) => one.expiresAt <= now).map((one) => one.runId);
    const ended = overdue.filter((runId) => waiting.has(runId));
    // Nothing leaves an open request behind; one that stands all the same must not be found for ever.
    const gone = overdue.filter((runId) => !waiting.has(runId));
    await approvals.decide(c, ended, 'expired', { actor, reason: null });
    await approvals.decide(c, gone, 'withdrawn', { actor, reason: null });
    const steps = [{ to: 'EXPIRED', reasonCode: EXPIRED }] as const;
    await walk(
      c,
      ended.map((runId) => ({ runId, from: 'WAITING_APPROVAL', actor, steps })),
    );
    await closeRuns(c, ended);
    return ended;
  });
}
