import type { Submission } from '@headgate/admission';
import { formatId, type ReasonCode, type Signal, type TargetRef, type Verdict } from '@headgate/domain';
import type { GoalRow } from '@headgate/store';
import { currentTraceparent } from '@headgate/telemetry';
import { type GoalPlace, workKeyOf } from './place.js';

/** A step of a goal as a signal. The event id is the step, so the same step submitted twice is one delivery. */
function goalSignal(row: GoalRow, { repository }: GoalPlace, step: string, target: TargetRef | null): Signal {
  const id = formatId('goal', row.id);
  return {
    source: `goal/${id}`,
    eventId: step,
    type: 'goal.step',
    trigger: 'goal',
    via: 'timer',
    hookId: null,
    subject: row.repository,
    emittedAt: row.now,
    receivedAt: row.now,
    actor: { kind: 'system', id, name: row.route },
    repository,
    target,
    inputVersion: null,
    sourceAt: row.now,
    parentVersions: [],
    data: { route: row.route, goalId: id, epoch: row.epoch },
    traceparent: currentTraceparent(),
  };
}

/** A look at the world: a run without an agent, of a task of its own. */
export function observationSubmission(row: GoalRow, place: GoalPlace, target: TargetRef): Submission {
  const step = `${row.epoch}.${row.observations + 1}`;
  return {
    signal: { ...goalSignal(row, place, `observe/${step}`, target), type: 'goal.observe' },
    tenant: place.route.tenant,
    payload: null,
    work: { workKey: `${workKeyOf(row)}/observe`, inputVersion: step },
    beside: { onNewVersion: 'allow', exclusive: true },
    observe: row.spec.observe,
  };
}

/** What an observation leads to, besides the agent. */
export function conclusion(
  row: GoalRow,
  place: GoalPlace,
  { reasonCode, outcome, detail, rule, watermark }: Conclusion,
): Submission {
  const verdict: Verdict = { outcome, reasonCode, detail, retryAfter: null, rule };
  const step = `conclude/${row.epoch}.${row.observations}/${reasonCode}`;
  return {
    signal: { ...goalSignal(row, place, step, null), type: 'goal.observed' },
    tenant: place.route.tenant,
    payload: null,
    verdict,
    watermark,
  };
}

export interface Conclusion {
  readonly reasonCode: Extract<ReasonCode, 'NOTHING_FOUND' | 'GOAL_GIVEN_UP' | 'OBSERVATION_UNKNOWN'>;
  readonly outcome: 'no-work' | 'reject';
  readonly detail: string;
  readonly rule: string;
  /** The commit that was looked at. */
  readonly watermark: string | null;
}

export interface AgentWork {
  readonly target: TargetRef;
  /** The commit that was looked at, and that the agent begins at. */
  readonly version: string;
  /** What was seen, as the agent's input. */
  readonly observation: unknown;
  readonly directive: Submission['directive'];
}

/** The agent, at the commit that was observed. */
export function agentSubmission(row: GoalRow, place: GoalPlace, work: AgentWork): Submission {
  const step = `work/${row.epoch}.${row.observations}`;
  const signal = goalSignal(row, place, step, work.target);
  return {
    signal: {
      ...signal,
      type: 'goal.observed',
      inputVersion: work.version,
      data: { ...(signal.data as object), inputs: { observation: work.observation } },
    },
    tenant: place.route.tenant,
    payload: null,
    work: { workKey: workKeyOf(row), inputVersion: work.version },
    beside: { onNewVersion: 'allow', exclusive: true },
    ...(work.directive === undefined ? {} : { directive: work.directive }),
  };
}
