/**
 * What happens after a failed attempt (Q17, Q18): decided by its reason code, never by the text of a log.
 *
 * Each cause has its own counter and ceiling: an agent that fails three times and a cluster that loses five
 * sandboxes are different stories, and neither may use up the other's attempts. The n-th charged failure waits
 * `backoffMs[n - 1]` (the last entry repeats), with the failures of all causes counted together, so that
 * causes that take turns do not start from the shortest wait again.
 *
 *   delay = base × (0.8 + 0.4 × random)          within ±20 % of the base
 *   after a rate limit: wait + 0.2 × min(wait, 60 s) × random, wait = max(Retry-After, base): never too early
 */
import type { RetryPolicy } from './policy.js';
import { type ReasonCode, reasonOf } from './reasons.js';

/** 30 s, 2 min, 10 min, 30 min (Q18). */
export const DEFAULT_BACKOFF_MS: readonly number[] = [30_000, 120_000, 600_000, 1_800_000];
export const DEFAULT_RETRY: RetryPolicy = {
  maxAttempts: 3,
  maxInfrastructure: 5,
  maxLeaseLost: 3,
  backoffMs: DEFAULT_BACKOFF_MS,
};
/** How long a run may go on waiting for a provider, from its first claim. A day covers daily quotas. */
export const RATE_LIMIT_DEADLINE_MS = 24 * 3_600_000;
/** How long a run waits that was handed back without a time (a pause, an open breaker). */
export const HANDED_BACK_MS = 60_000;

/** Failures of a run so far, by what they were charged to. */
export interface RetryCounters {
  readonly application: number;
  readonly infrastructure: number;
  readonly leaseLost: number;
  /** Counted for evidence and for the back-off; bounded by time, not by number. */
  readonly rateLimit: number;
}
export type RetryCause = keyof RetryCounters;
export const NO_FAILURES: RetryCounters = { application: 0, infrastructure: 0, leaseLost: 0, rateLimit: 0 };

/** What the retries of one run may use up besides their number (Q18). */
export interface RetryBudget {
  readonly kind:
    | 'runTimeMs'
    | 'modelCostUsd'
    | 'sandboxStarts'
    | 'providerCalls'
    | 'ciMinutes'
    | 'sideEffects';
  readonly used: number;
  readonly limit: number;
}

export interface RetryInput {
  readonly reasonCode: ReasonCode;
  /** Before this failure. */
  readonly counters: RetryCounters;
  readonly policy: RetryPolicy;
  readonly sinceFirstClaimMs: number;
  /** In [0, 1). */
  readonly random: number;
  /** What the provider or the hold asked for. */
  readonly retryAfterMs?: number | null;
  readonly rateLimitDeadlineMs?: number;
  readonly budgets?: readonly RetryBudget[];
}

export type RetryDecision =
  | {
      readonly kind: 'retry';
      readonly delayMs: number;
      /** After this failure. */
      readonly counters: RetryCounters;
      readonly chargedTo: RetryCause | null;
    }
  | {
      readonly kind: 'fail';
      /** ATTEMPTS_EXHAUSTED or COST_LIMIT when a bound ended it, else the failure's own code. */
      readonly reasonCode: ReasonCode;
      readonly counters: RetryCounters;
      readonly chargedTo: RetryCause | null;
      /** Whether a person has to look at it (I13). */
      readonly deadLetter: boolean;
    };

export function decideRetry(input: RetryInput): RetryDecision {
  const { reasonCode, counters, policy } = input;
  switch (reasonOf(reasonCode).retry) {
    case 'application':
      return charge(input, 'application', policy.maxAttempts);
    case 'infrastructure':
      return charge(input, 'infrastructure', policy.maxInfrastructure);
    case 'lease-lost':
      return charge(input, 'leaseLost', policy.maxLeaseLost);
    case 'rate-limit':
      return afterRateLimit(input);
    case 'uncharged':
      return { kind: 'retry', delayMs: input.retryAfterMs ?? 0, counters, chargedTo: null };
    case 'later':
      return { kind: 'retry', delayMs: input.retryAfterMs ?? HANDED_BACK_MS, counters, chargedTo: null };
    case 'none':
      return { kind: 'fail', reasonCode, counters, chargedTo: null, deadLetter: needsPerson(reasonCode) };
  }
}

function charge(input: RetryInput, cause: RetryCause, ceiling: number): RetryDecision {
  const counters = { ...input.counters, [cause]: input.counters[cause] + 1 };
  const bound = boundReached(input, counters[cause] >= ceiling);
  if (bound !== null) {
    return { kind: 'fail', reasonCode: bound, counters, chargedTo: cause, deadLetter: true };
  }
  const baseMs = backoffBaseMs(input.policy, counters);
  return { kind: 'retry', delayMs: jittered(baseMs, input.random), counters, chargedTo: cause };
}

function afterRateLimit(input: RetryInput): RetryDecision {
  const counters = { ...input.counters, rateLimit: input.counters.rateLimit + 1 };
  const waitMs = Math.max(input.retryAfterMs ?? 0, backoffBaseMs(input.policy, counters));
  const delayMs = Math.round(waitMs + 0.2 * Math.min(waitMs, 60_000) * input.random);
  const deadlineMs = input.rateLimitDeadlineMs ?? RATE_LIMIT_DEADLINE_MS;
  const isTooLate = input.sinceFirstClaimMs + waitMs > deadlineMs;
  const bound = boundReached(input, false) ?? (isTooLate ? input.reasonCode : null);
  if (bound !== null) {
    return { kind: 'fail', reasonCode: bound, counters, chargedTo: 'rateLimit', deadLetter: true };
  }
  return { kind: 'retry', delayMs, counters, chargedTo: 'rateLimit' };
}

function boundReached(input: RetryInput, isCeilingReached: boolean): ReasonCode | null {
  const spent = (input.budgets ?? []).find((budget) => budget.used >= budget.limit);
  if (spent?.kind === 'modelCostUsd') return 'COST_LIMIT';
  return isCeilingReached || spent !== undefined ? 'ATTEMPTS_EXHAUSTED' : null;
}

/** The wait before the next attempt, without jitter. */
export function backoffBaseMs(policy: RetryPolicy, counters: RetryCounters): number {
  const failures = counters.application + counters.infrastructure + counters.leaseLost + counters.rateLimit;
  const steps = policy.backoffMs.length === 0 ? DEFAULT_BACKOFF_MS : policy.backoffMs;
  return steps[Math.min(Math.max(failures, 1), steps.length) - 1] ?? 0;
}

const jittered = (baseMs: number, random: number): number => Math.round(baseMs * (0.8 + 0.4 * random));

/**
 * Ends that say nothing is wrong, or that were somebody's wish, ask for no one: the target moved or closed,
 * nobody claimed it in time, policy or a person said no.
 */
function needsPerson(reasonCode: ReasonCode): boolean {
  switch (reasonCode) {
    case 'SOURCE_MOVED':
    case 'TIME_TO_LIVE_EXPIRED':
    case 'CANCEL_UNCONFIRMED':
      return false;
    case 'TASK_CONTRACT_INVALID':
      return true;
    default:
      return reasonOf(reasonCode).class === 'failure';
  }
}
