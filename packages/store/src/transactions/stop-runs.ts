/**
 * Cancel and supersede: what takes the right to run away from outside.
 *
 * Races. The caller may hold the task's lock. Then, each in run id order: item, lease, run.
 *  - against a claim: it holds the item. We wait; then the item is gone and the next statement, with a new
 *    snapshot, sees the lease: the run is asked to stop instead.
 *  - against a finish or the reaper: they hold the lease. We wait; then the run is terminal, and nothing is left to do,
 *    or it is queued again (retry): its new item was not seen by the first statement, so runs found waiting without
 *    a locked item are locked once more.
 *  - against another stop: the same order, so one waits; a cancel that stands is never weakened to a supersede.
 * A crash before COMMIT leaves nothing.
 */
import {
  isCancelling,
  isLeased,
  isTerminal,
  type ReasonCode,
  type RunId,
  type RunStatus,
} from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { approvals } from '../tables/approvals.js';
import { leases } from '../tables/leases.js';
import { queueItems } from '../tables/queue-items.js';
import { type LockedRun, runs } from '../tables/runs.js';
import { closeRuns, type Walk, walk } from './end-runs.js';

export interface Stop {
  readonly runId: RunId;
  readonly kind: 'cancel' | 'supersede';
  readonly reasonCode: ReasonCode;
  readonly actor: string;
  readonly data?: unknown;
}

export type StopResult =
  /** It ended here: CANCELLED or SUPERSEDED. */
  | 'ended'
  /** A worker holds it and was asked to stop. */
  | 'requested'
  /** A stop was under way already. */
  | 'already'
  /** It had ended before. */
  | 'terminal'
  /** In FINALIZING a supersede lets it finish. */
  | 'finishing'
  | 'unknown';

export interface Stopped {
  readonly result: StopResult;
  readonly status: RunStatus | null;
}

export async function stopRuns(c: Connection, stops: readonly Stop[]): Promise<ReadonlyMap<RunId, Stopped>> {
  if (stops.length === 0) return new Map();
  const byId = new Map(stops.map((stop) => [stop.runId, stop]));
  const ids = [...byId.keys()];
  const items = new Set((await queueItems.lock(c, ids)).map((item) => item.runId));
  const held = new Set((await leases.lock(c, ids)).map((lease) => lease.runId));
  const locked = await runs.lock(c, ids);
  const requeued = locked.filter(
    (run) => !isTerminal(run.status) && !items.has(run.runId) && !held.has(run.runId),
  );
  if (requeued.length > 0) {
    for (const item of await queueItems.lock(
      c,
      requeued.map((run) => run.runId),
    ))
      items.add(item.runId);
  }

  const results = new Map<RunId, Stopped>();
  const walks: Walk[] = [];
  const controls: { runId: RunId; control: 'cancel' | 'supersede' }[] = [];
  for (const run of locked) {
    const stop = byId.get(run.runId);
    if (stop === undefined) continue;
    const planned = planStop(run, stop, held.has(run.runId));
    results.set(run.runId, { result: planned.result, status: planned.steps.at(-1) ?? run.status });
    if (planned.steps.length > 0) {
      walks.push({
        runId: run.runId,
        from: run.status,
        actor: stop.actor,
        steps: planned.steps.map((to) => ({ to, reasonCode: stop.reasonCode, data: stop.data })),
      });
    }
    if (planned.result === 'requested') {
      controls.push({ runId: run.runId, control: stop.kind === 'cancel' ? 'cancel' : 'supersede' });
    }
  }
  const ended = [...results].filter(([, stopped]) => stopped.result === 'ended').map(([runId]) => runId);
  await withdraw(c, locked, byId);
  await queueItems.remove(c, ended);
  await leases.setControl(c, controls);
  await walk(c, walks);
  await closeRuns(c, ended);
  for (const id of ids) if (!results.has(id)) results.set(id, { result: 'unknown', status: null });
  return results;
}

/** Whoever was asked about them need not answer any more. */
async function withdraw(
  c: Connection,
  locked: readonly LockedRun[],
  stops: ReadonlyMap<RunId, Stop>,
): Promise<void> {
  for (const { runId, status } of locked) {
    const stop = stops.get(runId);
    if (stop === undefined || status !== 'WAITING_APPROVAL') continue;
    await approvals.decide(c, [runId], 'withdrawn', { actor: stop.actor, reason: null });
  }
}

function planStop(run: LockedRun, stop: Stop, leased: boolean): { result: StopResult; steps: RunStatus[] } {
  if (isTerminal(run.status)) return { result: 'terminal', steps: [] };
  if (isCancelling(run.status)) return { result: 'already', steps: [] };
  if (leased || isLeased(run.status)) {
    if (stop.kind === 'supersede' && run.status === 'FINALIZING') return { result: 'finishing', steps: [] };
    return { result: 'requested', steps: ['CANCEL_REQUESTED'] };
  }
  return {
    result: 'ended',
    steps: stop.kind === 'supersede' ? ['SUPERSEDED'] : ['CANCEL_REQUESTED', 'CANCELLING', 'CANCELLED'],
  };
}
