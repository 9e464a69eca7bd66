/**
 * What a goal does next (I2): look again, let the agent work, or end. Pure; the caller holds the goal's row.
 *
 *   look ─► holds: done
 *        ─► open: a bound is reached: given up · else the agent works, once, then look at once
 *        ─► unknown: look again at the cadence; five in a row: a person has to look
 *
 * A bound ends the goal whatever the agent might still do: unknown is never taken for "holds" nor for "open".
 */
import type { TriggerOn } from '../policy.js';
import { counted, quoted } from '../sentences.js';

export type GoalSpec = Extract<TriggerOn, { kind: 'goal' }>;
export type GoalState = 'active' | 'paused' | 'done' | 'given-up' | 'removed';
export type Bound = 'maxRuns' | 'deadline' | 'noProgress' | 'maxCostUsd';

/** Where a goal stands since it began, or since a person reset it. */
export interface GoalProgress {
  readonly startedAt: Date;
  /** Runs of the agent, and what they cost. */
  readonly runs: number;
  readonly costUsd: number;
  /** Runs in a row after which the observation was what it had been. */
  readonly noProgress: number;
  /** Observations in a row that said nothing. */
  readonly unknowns: number;
  /** The agent has run since the last observation that said something. */
  readonly ranSince: boolean;
  /** Of that observation; null = there was none. */
  readonly fingerprint: string | null;
}

export type Observed =
  | { readonly kind: 'holds' }
  | { readonly kind: 'open'; readonly fingerprint: string }
  | { readonly kind: 'unknown'; readonly detail: string };

export interface ReachedBound {
  readonly bound: Bound;
  /** A sentence with the numbers. */
  readonly detail: string;
}

export type GoalStep =
  | { readonly kind: 'done' }
  | { readonly kind: 'give-up'; readonly reached: ReachedBound }
  | { readonly kind: 'work' }
  | { readonly kind: 'look-again' }
  | { readonly kind: 'pause'; readonly detail: string };

export interface GoalDecision {
  readonly step: GoalStep;
  readonly progress: Pick<GoalProgress, 'noProgress' | 'unknowns' | 'ranSince' | 'fingerprint'>;
}

/** More observations in a row that say nothing are not a goal that is hard to reach. */
export const MOST_UNKNOWNS = 5;

export function decideGoal(
  { stop }: Pick<GoalSpec, 'stop'>,
  progress: GoalProgress,
  observed: Observed,
  now: Date,
): GoalDecision {
  switch (observed.kind) {
    case 'holds':
      return { step: { kind: 'done' }, progress: { ...kept(progress), unknowns: 0, ranSince: false } };
    case 'unknown': {
      const after = { ...kept(progress), unknowns: progress.unknowns + 1 };
      const reached = boundReached(stop, progress, now);
      if (reached?.bound === 'deadline') return { step: { kind: 'give-up', reached }, progress: after };
      if (after.unknowns < MOST_UNKNOWNS) return { step: { kind: 'look-again' }, progress: after };
      const detail = `${counted(after.unknowns, 'observation')} in a row said nothing: ${observed.detail}`;
      return { step: { kind: 'pause', detail }, progress: after };
    }
    case 'open': {
      const isSame = progress.ranSince && observed.fingerprint === progress.fingerprint;
      const after = {
        noProgress: isSame ? progress.noProgress + 1 : progress.ranSince ? 0 : progress.noProgress,
        unknowns: 0,
        ranSince: false,
        fingerprint: observed.fingerprint,
      };
      const reached = boundReached(stop, { ...progress, ...after }, now);
      const step: GoalStep = reached === null ? { kind: 'work' } : { kind: 'give-up', reached };
      return { step, progress: after };
    }
  }
}

const kept = ({ noProgress, unknowns, ranSince, fingerprint }: GoalProgress) => ({
  noProgress,
  unknowns,
  ranSince,
  fingerprint,
});

/** The first bound that is reached, the hardest first; null = none. */
export function boundReached(
  stop: GoalSpec['stop'],
  progress: Pick<GoalProgress, 'startedAt' | 'runs' | 'costUsd' | 'noProgress'>,
  now: Date,
): ReachedBound | null {
  const { maxRuns, deadlineMs, noProgress, maxCostUsd } = stop;
  const deadline = new Date(progress.startedAt.getTime() + deadlineMs);
  if (now >= deadline) return reachedAt('deadline', `It was to be reached by ${deadline.toISOString()}.`);
  if (maxCostUsd !== null && progress.costUsd >= maxCostUsd) {
    return reachedAt('maxCostUsd', `Its runs cost ${progress.costUsd} USD of ${maxCostUsd}.`);
  }
  if (progress.noProgress >= noProgress) {
    return reachedAt('noProgress', `${counted(progress.noProgress, 'run')} in a row changed nothing.`);
  }
  if (progress.runs >= maxRuns)
    return reachedAt('maxRuns', `The agent ran ${progress.runs} of ${maxRuns} times.`);
  return null;
}

const reachedAt = (bound: Bound, detail: string): ReachedBound => ({
  bound,
  detail: `The bound ${quoted(bound)} is reached. ${detail}`,
});
