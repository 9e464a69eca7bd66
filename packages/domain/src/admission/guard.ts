/** The loop guard's say on one signal, and where its run would stand in the chain of causes. */
import { DEFAULT_LOOP_GUARD, type Lineage, lineageOf, type Maker, type RateLimit } from '../loop-guard.js';
import type { ReasonCode } from '../reasons.js';
import { counted, durationInWords, type Numbers } from '../sentences.js';
import type { Asked } from './admit.js';
import { decide } from './decision.js';
import { rateKey, subjectKey, taskKey, versionKey } from './keys.js';
import { standingLatch } from './latch.js';
import type { AdmissionState, Candidate, Decision, GuardState } from './types.js';

export const NO_GUARD_STATE: GuardState = { makers: new Map(), touched: new Map(), started: new Map() };

export const guardOf = (state: AdmissionState): GuardState => state.guard ?? NO_GUARD_STATE;

/** Which run made the version that this signal is about; null: none of ours, or it names none. */
export function makerOf(state: AdmissionState, { cause, tenant }: Candidate): Maker | null {
  if (cause == null || cause.version === null) return null;
  return guardOf(state).makers.get(versionKey(tenant.id, cause.version)) ?? null;
}

/** What a person who acts here starts afresh: target, branch, and the work itself. */
export const touchedSubjects = ({
  cause,
  tenant,
  work,
}: Candidate): readonly { readonly key: string; readonly subject: string }[] =>
  [...(cause?.subjects ?? []), ...(work === null ? [] : [`work ${work.workKey}`])].map((subject) => ({
    key: subjectKey(tenant.id, subject),
    subject,
  }));

/** When a person last acted on any of it; null: never, as far as is remembered. */
function touchedAt(state: AdmissionState, candidate: Candidate): Date | null {
  const { touched } = guardOf(state);
  const times = touchedSubjects(candidate).flatMap(({ key }) => touched.get(key)?.getTime() ?? []);
  return times.length === 0 ? null : new Date(Math.max(...times));
}

export function lineage({ state, candidate, task }: Pick<Asked, 'state' | 'candidate' | 'task'>): Lineage {
  const part = candidate.directive.kind === 'none' ? (candidate.cause?.part ?? 'clock') : 'person';
  return lineageOf(part, makerOf(state, candidate), task.chain ?? null, touchedAt(state, candidate));
}

/**
 * What we pushed comes back as news: nobody but us did anything. Asked before any route, so it does not matter whether
 * one takes it. Null: not so, or it was told apart by its sign already.
 */
export function echoOfOurs(state: AdmissionState, candidate: Candidate): Decision | null {
  const { cause, directive, verdict, work, tenant } = candidate;
  if (cause?.part !== 'echo' || directive.kind !== 'none') return null;
  if (verdict?.reasonCode === 'SELF_TRIGGERED' || makerOf(state, candidate) === null) return null;
  const task = work === null ? undefined : state.tasks.get(taskKey(tenant.id, work.workKey));
  return decide(candidate, {
    outcome: 'reject',
    reasonCode: 'SELF_TRIGGERED',
    rule: 'loop-guard.own-commit',
    facts: { detail: 'The commit is one that a run of ours made.' },
    taskId: task?.taskId ?? null,
    generation: task?.generation ?? null,
    writes: task === undefined ? [] : standingLatch(task, candidate),
  });
}

/** HOP_LIMIT, WORK_KEY_EXHAUSTED, RATE_EXCEEDED; null lets it pass. A person's own retry is not counted. */
export function guarded(asked: Asked): Decision | null {
  const { candidate } = asked;
  if (candidate.cause == null || candidate.directive.kind !== 'none') return null;
  const limits = candidate.guard ?? DEFAULT_LOOP_GUARD;
  const { hops, chainRuns } = lineage(asked);
  if (hops > limits.maxHops) {
    return refused(asked, 'HOP_LIMIT', 'loopGuard.maxHops', {
      numbers: { held: hops, limit: limits.maxHops },
      detail: `${counted(hops, 'run')} of ours lie between it and the outside.`,
    });
  }
  if (chainRuns > limits.maxRunsSinceHuman) {
    return refused(asked, 'WORK_KEY_EXHAUSTED', 'loopGuard.maxRunsSinceHuman', {
      numbers: { held: chainRuns - 1, limit: limits.maxRunsSinceHuman },
      detail: 'A comment, a push or a reset by a person lets it work again.',
    });
  }
  return (
    overRate(asked, 'target', limits.perTarget, 'loopGuard.perTarget') ??
    overRate(asked, 'actor', limits.perActor, 'loopGuard.perActor')
  );
}

function overRate(
  asked: Asked,
  kind: 'target' | 'actor',
  rate: RateLimit | null,
  rule: string,
): Decision | null {
  const { state, candidate } = asked;
  const subject = candidate.cause?.[kind] ?? null;
  if (rate === null || subject === null) return null;
  const held = guardOf(state).started.get(rateKey(candidate.tenant.id, kind, subject)) ?? 0;
  if (held < rate.limit) return null;
  const whose = kind === 'target' ? 'this target' : 'this actor';
  return refused(asked, 'RATE_EXCEEDED', rule, {
    numbers: { held, limit: rate.limit },
    detail: `${counted(held, 'run')} of ${whose} began within ${durationInWords(rate.windowMs)}.`,
  });
}

const refused = (
  { candidate, task }: Asked,
  reasonCode: ReasonCode,
  rule: string,
  facts: { readonly numbers?: Numbers; readonly detail: string },
): Decision =>
  decide(candidate, {
    outcome: 'reject',
    reasonCode,
    rule,
    facts,
    taskId: task.taskId,
    generation: task.generation,
  });
