/** Letting a version in: the queue's bound, and everything that changes with it. */
import { needsConsent } from '../approval.js';
import { PLACE, type RunStatus } from '../lifecycle.js';
import type { RoutePolicy } from '../policy.js';
import { counted } from '../sentences.js';
import { order, type VersionPoint } from '../source-order.js';
import { decide } from './decision.js';
import { lineage } from './guard.js';
import type { AdmissionState, AdmissionWrite, Candidate, Decision, LiveRun, TaskState } from './types.js';

/** A candidate with everything it is judged by. */
export interface Asked {
  readonly state: AdmissionState;
  readonly candidate: Candidate;
  readonly route: RoutePolicy;
  readonly task: TaskState;
  /** The candidate's version and its place in the source's order. */
  readonly point: VersionPoint;
}

export interface AdmitPlan {
  readonly rule: string;
  /** By default the task's. */
  readonly generation?: number;
  readonly publication?: number;
  readonly supersede?: readonly LiveRun[];
  readonly cancel?: readonly LiveRun[];
  /** A reset: the latch is cleared and this version is the latest, whatever stood before. */
  readonly isNewStart?: boolean;
}

/** How long a signal waits that met a full queue. */
export const QUEUE_FULL_RETRY_MS = 60_000;

/** Whether a run takes a place in its tenant's queue: it waits for capacity, not for a person. */
export const countsAsQueued = (status: RunStatus): boolean =>
  status === 'ADMITTED' || status === 'QUEUED' || status === 'WAITING_CAPACITY';

/** How long a signal waits whose repository has as many open pull requests as it may have. */
export const OPEN_LIMIT_RETRY_MS = 900_000;

/** Whether a task takes one of its repository's places for open pull requests: it has one, or may make one. */
export const countsAsOpen = ({ hasOpenPublication, live }: TaskState): boolean =>
  hasOpenPublication || live.length > 0;

/** Admits, or defers with QUEUE_FULL or OPEN_PULL_REQUEST_LIMIT. Nothing is cancelled for a run that is not made. */
export function admit(asked: Asked, plan: AdmitPlan): Decision {
  const { candidate, task } = asked;
  const leaving = [...(plan.supersede ?? []), ...(plan.cancel ?? [])];
  const full = tooManyOpen(asked) ?? queueIsFull(asked, leaving);
  if (full !== null) return full;

  const needsApproval =
    candidate.verdict?.reasonCode === 'APPROVAL_REQUIRED' || needsConsent(candidate.tenant, asked.route.risk);
  const generation = plan.generation ?? task.generation;
  const publication = plan.publication ?? task.publication;
  const isTaskChanged = generation !== task.generation || publication !== task.publication || task.cancelled;
  const { taskId } = task;
  const writes: AdmissionWrite[] = [];
  if (isTaskChanged) writes.push({ kind: 'task', taskId, generation, publication, cancelled: false });
  for (const run of plan.cancel ?? []) {
    writes.push({ kind: 'cancel', runId: run.runId, taskId, reasonCode: 'CANCELLED_BY_USER' });
  }
  for (const run of plan.supersede ?? []) {
    writes.push({ kind: 'supersede', runId: run.runId, taskId, by: candidate.runId });
  }
  writes.push({
    kind: 'admit',
    runId: candidate.runId,
    taskId,
    generation,
    publication,
    candidate,
    status: needsApproval ? 'WAITING_APPROVAL' : 'QUEUED',
    lineage: lineage(asked),
  });
  if (becomesLatest(asked, plan)) writes.push({ kind: 'latest', taskId, ...asked.point });
  if (clearsLatch(asked, plan)) writes.push({ kind: 'latch', taskId, latch: null, candidate: null });

  return decide(candidate, {
    outcome: 'accept',
    reasonCode: needsApproval ? 'APPROVAL_REQUIRED' : 'ADMITTED',
    rule: plan.rule,
    facts: {
      detail: leaving.length === 0 ? null : `It takes the place of ${counted(leaving.length, 'run')}.`,
    },
    runId: candidate.runId,
    taskId,
    generation,
    writes,
  });
}

/** A task that has its place keeps it: a newer version updates the pull request that is there. */
function tooManyOpen({ state, candidate, route, task }: Asked): Decision | null {
  const limit = route.maxOpenPullRequests;
  if (limit === null || candidate.repository === null || countsAsOpen(task)) return null;
  const held = state.openByRepository.get(candidate.repository) ?? 0;
  if (held < limit) return null;
  const dueAt = new Date(state.now.getTime() + OPEN_LIMIT_RETRY_MS);
  return decide(candidate, {
    outcome: 'defer',
    reasonCode: 'OPEN_PULL_REQUEST_LIMIT',
    rule: 'route.maxOpenPullRequests',
    facts: { numbers: { held, limit } },
    taskId: task.taskId,
    generation: task.generation,
    retryAfter: dueAt,
    writes: [{ kind: 'defer', candidate, dueAt, reasonCode: 'OPEN_PULL_REQUEST_LIMIT' }],
  });
}

/** A run that leaves the queue in the same step gives its place to this one: a newer version never waits for an older. */
function queueIsFull({ state, candidate, task }: Asked, leaving: readonly LiveRun[]): Decision | null {
  const { maxQueued, id } = candidate.tenant;
  if (maxQueued === null) return null;
  const freed = leaving.filter((run) => countsAsQueued(run.status) && PLACE[run.status] !== 'lease').length;
  const queued = (state.queuedByTenant.get(id) ?? 0) - freed;
  if (queued < maxQueued) return null;
  const dueAt = new Date(state.now.getTime() + QUEUE_FULL_RETRY_MS);
  return decide(candidate, {
    outcome: 'defer',
    reasonCode: 'QUEUE_FULL',
    rule: 'tenant.maxQueued',
    facts: { numbers: { held: queued, limit: maxQueued } },
    taskId: task.taskId,
    generation: task.generation,
    retryAfter: dueAt,
    writes: [{ kind: 'defer', candidate, dueAt, reasonCode: 'QUEUE_FULL' }],
  });
}

/**
 * The latest version moves forward only. Where the order is unknown, the one with a time takes the place: it
 * can be compared with what comes.
 */
function becomesLatest({ task, point }: Asked, plan: AdmitPlan): boolean {
  const { latest } = task;
  if (latest === null) return true;
  const relation = order(point, latest);
  if (relation === 'same') return false;
  if (plan.isNewStart === true || relation === 'newer') return true;
  return relation === 'unknown' && latest.sourceAt === null && point.sourceAt !== null;
}

/** The latch falls with a reset, and when its own version is let in: promoted, or brought by another signal. */
function clearsLatch({ task, point }: Asked, plan: AdmitPlan): boolean {
  if (task.latch === null) return false;
  return plan.isNewStart === true || task.latch.inputVersion === point.inputVersion;
}
