/**
 * A version beside the others of its task: those that stand and are newer, those that run, the one that waits behind
 * them, and the one that a person asks for again.
 */
import { isCancelling } from '../lifecycle.js';
import type { RoutePolicy } from '../policy.js';
import { counted, quoted } from '../sentences.js';
import { order, type VersionPoint } from '../source-order.js';
import { type Asked, admit } from './admit.js';
import { decide } from './decision.js';
import type { Decision, KnownVersion, LiveRun, TaskState } from './types.js';

/** A version that was let in, or is latched, and that the source puts after this one. */
export function newerStanding(point: VersionPoint, task: TaskState): VersionPoint | null {
  const standing = [task.latest, task.latch, ...task.debounced, ...task.live].filter(
    (other) => other !== null,
  );
  return standing.find((other) => order(point, other) === 'older') ?? null;
}

export function superseded({ candidate, task }: Asked, newer: VersionPoint): Decision {
  return decide(candidate, {
    outcome: 'reject',
    reasonCode: 'SUPERSEDED',
    rule: 'source-order',
    facts: { detail: `The newer version is ${quoted(newer.inputVersion)}.` },
    taskId: task.taskId,
    generation: task.generation,
    metRunId: task.versions.get(newer.inputVersion)?.runId ?? null,
  });
}

/**
 * Another version may be under way. A run that is being cancelled no longer counts: it will bring no result,
 * and the exclusive key keeps its successor from starting before it is gone.
 */
export function byRunsUnderWay(asked: Asked, route: RoutePolicy, known: KnownVersion | undefined): Decision {
  const { candidate, task, point } = asked;
  const isFreed = known !== undefined;
  const plan = {
    ...(isFreed ? { generation: nextGeneration(task, known) } : {}),
    rule: isFreed ? 'freed-version' : 'new-version',
  };
  const underWay = task.live.filter((run) => !isCancelling(run.status));
  const current = underWay.at(-1);
  if (current === undefined) return admit(asked, plan);

  const met = { taskId: task.taskId, generation: task.generation };
  const rule = `onNewVersion.${route.onNewVersion}`;
  switch (route.onNewVersion) {
    case 'reject':
      return inProgress(asked, current, rule);
    case 'useExisting':
      return decide(candidate, {
        ...met,
        outcome: 'accept',
        reasonCode: 'EXISTING_RUN',
        rule,
        runId: current.runId,
        existing: true,
      });
    case 'queueOne':
      return byLatch(asked, current, rule) ?? admit(asked, { ...plan, rule });
    case 'cancelOther':
      return admit(asked, {
        ...plan,
        rule,
        supersede: underWay.filter((run) => run.status !== 'FINALIZING' && order(point, run) === 'newer'),
      });
    case 'allow':
      return admit(asked, { ...plan, rule });
  }
}

/**
 * One version waits behind the live run: the newest by the source's order. A version whose place beside the
 * latched one is unknown must neither push it out nor be swallowed, so it is admitted (null) and waits for the
 * exclusive key.
 */
function byLatch({ candidate, task, point }: Asked, current: LiveRun, rule: string): Decision | null {
  const relation = task.latch === null ? 'newer' : order(point, task.latch);
  if (relation !== 'newer' && relation !== 'same') return null;
  const latch = { ...point, receiptId: candidate.receiptId };
  return decide(candidate, {
    outcome: 'accept',
    reasonCode: 'QUEUED_NEXT',
    rule,
    taskId: task.taskId,
    generation: task.generation,
    metRunId: current.runId,
    writes: relation === 'same' ? [] : [{ kind: 'latch', taskId: task.taskId, latch, candidate }],
  });
}

/** A person asks for a run again (retry, replay of a dead letter, reset). */
export function againByPerson(
  asked: Asked,
  directive: { kind: 'retry' | 'reset'; cancelLive: boolean },
): Decision {
  const { task, point } = asked;
  const isReset = directive.kind === 'reset';
  const newer = isReset ? null : newerStanding(point, task);
  if (newer !== null) return superseded(asked, newer);
  const current = task.live.at(-1);
  const rule = `directive.${directive.kind}`;
  if (current !== undefined && !directive.cancelLive) return inProgress(asked, current, rule);
  return admit(asked, {
    rule,
    generation: nextGeneration(task, task.versions.get(point.inputVersion)),
    publication: task.publication + (isReset ? 1 : 0),
    cancel: task.live.filter((run) => !isCancelling(run.status)),
    isNewStart: isReset,
  });
}

function inProgress({ candidate, task }: Asked, current: LiveRun, rule: string): Decision {
  return decide(candidate, {
    outcome: 'reject',
    reasonCode: 'WORK_IN_PROGRESS',
    rule,
    facts: { detail: `${counted(task.live.length, 'run')} of the task not ended.` },
    taskId: task.taskId,
    generation: task.generation,
    runId: current.runId,
    existing: true,
  });
}

const nextGeneration = (task: TaskState, known: KnownVersion | undefined): number =>
  Math.max(task.generation, known?.generation ?? 0) + 1;
