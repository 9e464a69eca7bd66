/** How an attempt ends, as the code that runs it says it. */
import type { ReasonCode } from '@headgate/domain';
import type { AttemptOutcome } from '@headgate/store';

/** What is kept of an attempt whatever its outcome (Q6, Q8). Plain JSON, bounded. */
export type Evidence = Readonly<Record<string, unknown>>;

export type Ending =
  | { readonly kind: 'end'; readonly outcome: AttemptOutcome; readonly evidence: Evidence }
  /** The right to act is gone: nothing more is written, all that was done is left to its successor. */
  | { readonly kind: 'dropped' };

/** A step of an attempt: go on with its value, or end. */
export type Step<T> =
  | { readonly kind: 'go'; readonly value: T }
  | { readonly kind: 'ended'; readonly ending: Ending };

export const go = <T>(value: T): Step<T> => ({ kind: 'go', value });
export const ended = (ending: Ending): Step<never> => ({ kind: 'ended', ending });
export const dropped: Ending = { kind: 'dropped' };

export const failed = (reasonCode: ReasonCode, detail: string | null, evidence: Evidence = {}): Ending => ({
  kind: 'end',
  outcome: { kind: 'failed', reasonCode, detail, retryAfterMs: null },
  evidence,
});

export const endedWith = (outcome: AttemptOutcome, evidence: Evidence = {}): Ending => ({
  kind: 'end',
  outcome,
  evidence,
});
