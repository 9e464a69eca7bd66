/** What the state is after a decision, as far as later candidates of the same batch can see it. */
import type { RunId } from '../ids.js';
import { PLACE, type RunStatus } from '../lifecycle.js';
import { countsAsOpen, countsAsQueued } from './admit.js';
import { withoutItsWaiting } from './debounce.js';
import { guardOf, touchedSubjects } from './guard.js';
import { deliveryKey, rateKey, taskKey } from './keys.js';
import type {
  AdmissionState,
  AdmissionWrite,
  Decision,
  FirstDelivery,
  GuardState,
  LiveRun,
  TaskState,
  WaitingVersion,
} from './types.js';

/** A working copy: its maps are its own, the tasks in them are never changed in place. */
export interface AdmissionDraft extends AdmissionState {
  readonly deliveries: Map<string, FirstDelivery>;
  readonly tasks: Map<string, TaskState>;
  readonly queuedByTenant: Map<string, number>;
  readonly openByRepository: Map<string, number>;
  readonly guard: GuardDraft;
  /** Decisions so far. */
  readonly order: { count: number };
}

interface GuardDraft extends GuardState {
  readonly touched: Map<string, Date>;
  readonly started: Map<string, number>;
}

export const draftOf = (state: AdmissionState): AdmissionDraft => ({
  deliveries: new Map(state.deliveries),
  tasks: new Map(state.tasks),
  queuedByTenant: new Map(state.queuedByTenant),
  openByRepository: new Map(state.openByRepository),
  guard: {
    makers: guardOf(state).makers,
    touched: new Map(guardOf(state).touched),
    started: new Map(guardOf(state).started),
  },
  order: { count: 0 },
  now: state.now,
});

/** The state after a decision. The given state stays as it is. */
export function evolve(state: AdmissionState, decision: Decision): AdmissionState {
  const draft = draftOf(state);
  evolveDraft(draft, decision);
  const { order: _order, ...after } = draft;
  return after;
}

/** As `evolve`, in place: a batch copies the maps once. */
export function evolveDraft(draft: AdmissionDraft, decision: Decision): void {
  const { candidate } = decision;
  const key = deliveryKey(candidate.signal);
  const isFirst =
    candidate.parentReceiptId === null && standsForDelivery(draft.deliveries.get(key), decision);
  if (isFirst) {
    const { runId, taskId } = decision;
    draft.deliveries.set(key, { receiptId: candidate.receiptId, runId, taskId });
  }
  if (isFirst || candidate.isWoken === true) rememberAsked(draft, decision);
  // Later than everything before it in the batch, as in the database: an act and a run are never at one instant.
  draft.order.count += 2;
  const at = new Date(draft.now.getTime() + draft.order.count);
  for (const write of decision.writes) remember(draft, write, at);
  if (candidate.work === null) return;
  const name = taskKey(candidate.tenant.id, candidate.work.workKey);
  const before = draft.tasks.get(name);
  if (before === undefined) return;
  let task = withoutItsWaiting(before, candidate);
  let queued = draft.queuedByTenant.get(candidate.tenant.id) ?? 0;
  for (const write of decision.writes) {
    const next = applyWrite(task, write, at);
    queued += countQueued(next) - countQueued(task);
    task = next;
  }
  const { repository } = candidate;
  const opened = decision.writes.some(({ kind }) => kind === 'admit') && repository !== null;
  if (opened && !countsAsOpen(before)) {
    draft.openByRepository.set(repository, (draft.openByRepository.get(repository) ?? 0) + 1);
  }
  draft.tasks.set(name, task);
  draft.queuedByTenant.set(candidate.tenant.id, Math.max(0, queued));
}

/**
 * Which receipt a repeated delivery is answered with: of the routes that took it the first that led to a run, else the
 * first of all.
 */
export const standsForDelivery = (standing: FirstDelivery | undefined, decision: Decision): boolean =>
  standing === undefined ||
  (decision.candidate.isFurtherRoute && standing.runId === null && decision.runId !== null);

/** A command counts as heard from its first delivery on. */
function rememberAsked(draft: AdmissionDraft, { candidate, runId, taskId }: Decision): void {
  if (candidate.heardAs == null) return;
  const key = deliveryKey({ source: candidate.signal.source, eventId: candidate.heardAs });
  if (!draft.deliveries.has(key)) {
    draft.deliveries.set(key, { receiptId: candidate.receiptId, runId, taskId });
  }
}

/** What later candidates of other tasks see of it: a person's act, and one more run of its target and actor. */
function remember({ guard }: AdmissionDraft, write: AdmissionWrite, at: Date): void {
  if (write.kind === 'touch') {
    // After the run that the act itself led to.
    const touchedAt = new Date(at.getTime() + 1);
    for (const { key } of touchedSubjects(write.candidate)) guard.touched.set(key, touchedAt);
  }
  if (write.kind !== 'admit') return;
  const { cause, tenant } = write.candidate;
  for (const kind of ['target', 'actor'] as const) {
    const subject = cause?.[kind] ?? null;
    if (subject === null) continue;
    const key = rateKey(tenant.id, kind, subject);
    guard.started.set(key, (guard.started.get(key) ?? 0) + 1);
  }
}

function applyWrite(task: TaskState, write: AdmissionWrite, at: Date): TaskState {
  switch (write.kind) {
    case 'admit': {
      const { runId, generation, status, candidate } = write;
      if (candidate.work === null) return task;
      const { inputVersion } = candidate.work;
      const { sourceAt, parentVersions } = candidate.signal;
      const run: LiveRun = { runId, generation, inputVersion, sourceAt, parentVersions, status };
      const versions = new Map(task.versions).set(inputVersion, { runId, generation, outcome: null });
      const chain = { runs: write.lineage.chainRuns, at };
      return { ...task, live: [...task.live, run], versions, chain };
    }
    case 'supersede':
      return endRun(task, write.runId, 'SUPERSEDED');
    case 'cancel':
      return endRun(task, write.runId, 'CANCELLED');
    case 'latch':
      return { ...task, latch: write.latch };
    case 'latest': {
      const { inputVersion, sourceAt, parentVersions } = write;
      return { ...task, latest: { inputVersion, sourceAt, parentVersions } };
    }
    case 'task': {
      const { generation, publication, cancelled } = write;
      return { ...task, generation, publication, cancelled };
    }
    case 'debounce': {
      const { candidate, since, replaces } = write;
      if (candidate.work === null || candidate.route === null) return task;
      const waiting: WaitingVersion = {
        deferredId: candidate.deferredId,
        receiptId: candidate.receiptId,
        route: candidate.route.id,
        since,
        inputVersion: candidate.work.inputVersion,
        sourceAt: candidate.signal.sourceAt,
        parentVersions: candidate.signal.parentVersions,
      };
      const others = task.debounced.filter(({ deferredId }) => deferredId !== replaces);
      return { ...task, debounced: [...others, waiting] };
    }
    case 'attach':
    case 'defer':
    case 'touch':
    case 'feedback':
      return task;
  }
}

/** Without a lease the run ends at once; with one it is asked to stop, and lives until it has. */
function endRun(task: TaskState, runId: RunId, ending: RunStatus): TaskState {
  const run = task.live.find((live) => live.runId === runId);
  if (run === undefined) return task;
  if (PLACE[run.status] === 'lease') {
    const asked: LiveRun = { ...run, status: 'CANCEL_REQUESTED' };
    return { ...task, live: task.live.map((live) => (live.runId === runId ? asked : live)) };
  }
  const versions = new Map(task.versions);
  const known = versions.get(run.inputVersion);
  if (known?.runId === runId) versions.set(run.inputVersion, { ...known, outcome: ending });
  return { ...task, live: task.live.filter((live) => live.runId !== runId), versions };
}

const countQueued = (task: TaskState): number => task.live.filter((run) => countsAsQueued(run.status)).length;
