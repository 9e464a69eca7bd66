/**
 * A goal whose observation or agent has ended.
 *
 *   observation: BEGIN ─► goal locked ─► run's end read ─► judged ─► decided ─► admission ─► observation row ─► COMMIT
 *   agent:       BEGIN ─► goal locked ─► run's end read ─► cost and count ─► look again at once ─► COMMIT
 *
 * Who may write: any number of keepers; the goal's row as it was seen lets one of them. Crash before COMMIT: nothing,
 * the run's end stands and is read again. The observation is where the worker's finish left it, so it is decided once,
 * and one agent at most is let work for it.
 */
import type { Undertaken } from '@headgate/admission';
import {
  decideGoal,
  formatId,
  type GoalDecision,
  isTerminal,
  type ReceiptId,
  type SignalAnswer,
  type TargetRef,
} from '@headgate/domain';
import {
  type Connection,
  type GoalRow,
  goals,
  observations,
  type RunEnd,
  tasks,
  taskVersions,
} from '@headgate/store';
import { wholeRepository } from '../repositories/reached.js';
import { endGoal } from './end-goal.js';
import { agentSubmission, conclusion } from './goal-signal.js';
import { type Judged, judge } from './judge.js';
import { type KeepOptions, NotTakenError, nextLookAt, type Stepped } from './keep.js';
import { type GoalPlace, placeOf, taskOf } from './place.js';

export async function conclude(seen: GoalRow, options: KeepOptions): Promise<Stepped> {
  const place = placeOf(seen, options.active);
  if (place === null) return { kind: 'passed' };
  let undertaken: Undertaken | null = null;
  const stepped = await options.pool.transaction(async (c): Promise<Stepped> => {
    undertaken = null;
    const row = await goals.lock(c, seen);
    const end = row === null || row.runId === null ? null : await goals.runEnd(c, row.runId);
    if (row === null || end === null || !isTerminal(end.status)) return { kind: 'passed' };
    if (end.status === 'CANCELLED' && end.reasonCode !== 'SUPERSEDED') return pauseCancelled(c, row, end);
    if (row.phase === 'working') return agentEnded(c, row, end);
    const after = await observed(c, row, end, place, options);
    undertaken = after.undertaken;
    return after.stepped;
  });
  options.committed(undertaken);
  return stepped;
}

/** A person stopped it: it is not begun again over their head. */
async function pauseCancelled(c: Connection, row: GoalRow, end: RunEnd): Promise<Stepped> {
  const what = row.phase === 'working' ? 'Its agent' : 'Its observation';
  await goals.rest(c, row.id, { nextAt: null, costUsd: end.costUsd, ranAgent: row.phase === 'working' });
  await pause(
    c,
    row,
    `${what} was cancelled${row.runId === null ? '' : ` (${formatId('run', row.runId)})`}.`,
  );
  return { kind: 'paused' };
}

const pause = (c: Connection, row: GoalRow, note: string): Promise<number> =>
  goals.setState(c, row.id, { state: 'paused', by: 'goal', reasonCode: null, note, receiptId: null });

async function agentEnded(c: Connection, row: GoalRow, end: RunEnd): Promise<Stepped> {
  await goals.rest(c, row.id, { nextAt: row.now, costUsd: end.costUsd, ranAgent: true });
  return { kind: 'agent-ended', status: end.status };
}

interface After {
  readonly undertaken: Undertaken;
  readonly stepped: Stepped;
}

async function observed(
  c: Connection,
  row: GoalRow,
  end: RunEnd,
  place: GoalPlace,
  options: KeepOptions,
): Promise<After> {
  const judged = judge(end, row.spec.until.source, place.repository);
  const { step, progress } = decideGoal(row.spec, row, judged.observed, row.now);
  await goals.setProgress(c, row.id, progress);
  const isWork = step.kind === 'work' && judged.facts?.version != null;
  if (!isWork) await goals.rest(c, row.id, { nextAt: nextLookAt(row), costUsd: 0, ranAgent: false });
  const after = await follow(c, row, place, judged, step, options);
  const [answer] = after.undertaken.answers;
  await observations.insert(c, {
    id: options.ids.next('obs'),
    goalId: row.id,
    tenantId: row.tenantId,
    epoch: row.epoch,
    number: row.observations,
    runId: row.runId ?? missing(),
    outcome: judged.observed.kind,
    ref: judged.facts?.ref ?? null,
    version: judged.facts?.version ?? null,
    result: judged.facts,
    detail: judged.observed.kind === 'unknown' ? judged.observed.detail : null,
    fingerprint: judged.observed.kind === 'open' ? judged.observed.fingerprint : null,
    receiptId: receiptOf(answer),
  });
  return after;
}

const receiptOf = (answer: SignalAnswer | undefined): ReceiptId | null => answer?.receiptId ?? null;

const missing = (): never => {
  throw new Error('an observation without its run');
};

async function follow(
  c: Connection,
  row: GoalRow,
  place: GoalPlace,
  judged: Judged,
  step: GoalDecision['step'],
  options: KeepOptions,
): Promise<After> {
  const watermark = judged.facts?.version ?? null;
  switch (step.kind) {
    case 'done': {
      const detail = `"${row.spec.until.source}" holds${watermark === null ? '' : ` at ${watermark}`}.`;
      const undertaken = await endGoal(c, row, place, { state: 'done', detail, watermark }, options);
      return { undertaken, stepped: { kind: 'done' } };
    }
    case 'give-up': {
      const { detail } = step.reached;
      const undertaken = await endGoal(c, row, place, { state: 'given-up', detail, watermark }, options);
      return { undertaken, stepped: { kind: 'given-up' } };
    }
    case 'work':
      if (watermark !== null) return letWork(c, row, place, judged, watermark, options);
      return unknownReceipt(c, row, place, 'It is not known which commit was looked at.', options);
    case 'look-again':
    case 'pause': {
      const detail = judged.observed.kind === 'unknown' ? judged.observed.detail : 'It said nothing.';
      const after = await unknownReceipt(c, row, place, detail, options);
      if (step.kind === 'look-again') return after;
      await pause(c, row, step.detail);
      return { ...after, stepped: { kind: 'paused' } };
    }
  }
}

async function unknownReceipt(
  c: Connection,
  row: GoalRow,
  place: GoalPlace,
  detail: string,
  { admission }: KeepOptions,
): Promise<After> {
  const undertaken = await admission.within(c, [
    conclusion(row, place, {
      reasonCode: 'OBSERVATION_UNKNOWN',
      outcome: 'no-work',
      detail,
      rule: 'goal.observe',
      watermark: null,
    }),
  ]);
  return { undertaken, stepped: { kind: 'unknown' } };
}

async function letWork(
  c: Connection,
  row: GoalRow,
  place: GoalPlace,
  judged: Judged,
  version: string,
  options: KeepOptions,
): Promise<After> {
  const undertaken = await options.admission.within(c, [
    agentSubmission(row, place, {
      target: targetOf(judged, place),
      version,
      observation: judged.facts,
      directive: await directiveOf(c, row, version),
    }),
  ]);
  const [answer] = undertaken.answers;
  if (answer?.outcome === 'defer') throw new NotTakenError(answer);
  // Somebody runs its task already (a person's retry): that run is waited for instead.
  if (answer !== undefined && answer.runId !== null && (answer.outcome === 'accept' || answer.existing)) {
    const isNew = answer.outcome === 'accept' && !answer.existing;
    await goals.begin(c, row.id, 'working', answer.runId, isNew);
    return { undertaken, stepped: { kind: 'working', runId: answer.runId } };
  }
  await goals.rest(c, row.id, { nextAt: nextLookAt(row), costUsd: 0, ranAgent: false });
  if (answer?.reasonCode === 'TASK_CANCELLED') await pause(c, row, 'Its task was cancelled. Reset the goal.');
  return { undertaken, stepped: { kind: 'refused', reasonCode: answer?.reasonCode ?? null } };
}

/**
 * A commit that the agent has tried before may be tried again, within the goal's bounds; a person's reset is one of its
 * task too. A cancelled task stays cancelled: only a reset lifts that.
 */
async function directiveOf(c: Connection, row: GoalRow, version: string): Promise<AgentDirective> {
  if (row.isReset) return { kind: 'reset', cancelLive: false };
  const task = await taskOf(c, row);
  if (task === null) return { kind: 'none' };
  const [locked] = await tasks.lockById(c, [task.id]);
  if (locked === undefined || locked.cancelledAt !== null) return { kind: 'none' };
  const known = await taskVersions.known(c, [{ taskId: task.id, inputVersion: version }]);
  return known.length > 0 ? { kind: 'retry', cancelLive: false } : { kind: 'none' };
}

type AgentDirective =
  | { readonly kind: 'none' }
  | { readonly kind: 'retry' | 'reset'; readonly cancelLive: boolean };

function targetOf({ facts }: Judged, { repository }: GoalPlace): TargetRef {
  const ref = facts?.ref ?? null;
  if (ref === null || ref === repository.defaultBranch) return wholeRepository(repository);
  return { kind: 'branch', id: ref, ref, aspect: null };
}
