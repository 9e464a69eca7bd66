/**
 * Operations: external side effects in the ledger (I15, Q9, Q25). States, legal steps, keys, and the port that
 * `store` implements over Postgres and `effects` drives.
 *
 * A row is made before the call and settled after it. Between the two its fate is unknown, and only a read of
 * the provider may make it known again: nothing goes from `attempted` or `ambiguous` back to `attempted`
 * without passing `absent`.
 */
import { createHash } from 'node:crypto';
import type { LeaseId, OperationId, RunId } from './ids.js';

export const OPERATION_STATES = [
  'intended',
  'attempted',
  'confirmed',
  'ambiguous',
  'absent',
  'conflicted',
  'abandoned',
] as const;
export type OperationState = (typeof OPERATION_STATES)[number];

/** Every legal step. `confirmed`, `conflicted` and `abandoned` absorb. */
export const OPERATION_TRANSITIONS: Readonly<Record<OperationState, readonly OperationState[]>> = {
  intended: ['attempted', 'abandoned'],
  attempted: ['confirmed', 'ambiguous', 'conflicted', 'abandoned'],
  ambiguous: ['confirmed', 'absent', 'conflicted', 'abandoned'],
  // A call that was believed lost may still land: evidence of it is always welcome.
  absent: ['attempted', 'confirmed', 'conflicted', 'abandoned'],
  confirmed: [],
  conflicted: [],
  abandoned: [],
};

export const isLegalOperationStep = (from: OperationState, to: OperationState): boolean =>
  OPERATION_TRANSITIONS[from].includes(to);

/** Nothing will happen to the row any more. */
export const isOperationSettled = (state: OperationState): boolean =>
  OPERATION_TRANSITIONS[state].length === 0;

/** The call may have been made and nobody knows: only a read may decide. */
export const isOperationUnknown = (state: OperationState): boolean =>
  state === 'attempted' || state === 'ambiguous';

export const OPERATION_KINDS = ['push'] as const;
export type OperationKind = (typeof OPERATION_KINDS)[number];

/** What a claimant shows with every write (law 4). */
export interface OperationFence {
  readonly runId: RunId;
  /** A bigint in decimal: it does not fit a number for ever. */
  readonly fencingToken: string;
  readonly leaseId: LeaseId;
}

/** Plain JSON: what is stored of an intent or as evidence. Never a credential. */
export type OperationData = Readonly<Record<string, string | number | boolean | null>>;

export interface Operation {
  readonly id: OperationId;
  readonly key: string;
  readonly kind: OperationKind;
  readonly state: OperationState;
  /** The run whose intent it is. */
  readonly runId: RunId;
  readonly intent: OperationData;
  /** How many calls were started. Names the attempt that a later report is about. */
  readonly tries: number;
  readonly evidence: OperationData | null;
  readonly externalId: string | null;
  readonly url: string | null;
  readonly detail: string | null;
}

export type IntendResult =
  | { readonly kind: 'intended'; readonly operation: Operation }
  /** The key is known: look at `operation.state` and `operation.intent` before anything else. */
  | { readonly kind: 'existing'; readonly operation: Operation }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'fence-lost' };

export type AttemptResult =
  /** Make the call now, once; report it with `operation.tries`. */
  | { readonly kind: 'go'; readonly operation: Operation }
  /** Settled: there is nothing to call. */
  | { readonly kind: 'not-needed'; readonly operation: Operation }
  /** `attempted` or `ambiguous`: read the provider first. */
  | { readonly kind: 'unknown'; readonly operation: Operation }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'fence-lost' };

export type ReportResult =
  | { readonly kind: 'written'; readonly operation: Operation }
  /** The step is not legal from the row's state, or speaks of an older attempt; the row stands as it is. */
  | { readonly kind: 'unchanged'; readonly operation: Operation };

export type AbsentResult =
  | ReportResult
  /** The settle window is not over: read again after `remainingMs`. */
  | { readonly kind: 'too-early'; readonly operation: Operation; readonly remainingMs: number };

/**
 * The ledger of one tenant. `intend` and `attempt` demand the current, unexpired lease and refuse a run whose
 * cancel is committed; the reports carry what the provider showed, so they need no fence and a late one is
 * still true. Times are the ledger's own (the database's).
 */
export interface OperationLedger {
  /** Commits the intent before any call. The fence is checked first, also for a key that is known. */
  intend(input: {
    readonly key: string;
    readonly kind: OperationKind;
    readonly fence: OperationFence;
    readonly intent: OperationData;
  }): Promise<IntendResult>;
  /** Immediately before the call: re-validates the fence, and moves `intended` or `absent` to `attempted`. */
  attempt(input: { readonly key: string; readonly fence: OperationFence }): Promise<AttemptResult>;
  /** From `attempted`, `ambiguous` or `absent`, whichever attempt the evidence is of. */
  confirm(input: {
    readonly key: string;
    readonly evidence: OperationData;
    readonly externalId: string | null;
    readonly url: string | null;
  }): Promise<ReportResult>;
  /** The call of attempt `tries` ended without an answer that can be trusted. */
  ambiguous(input: {
    readonly key: string;
    readonly tries: number;
    readonly detail: string;
  }): Promise<ReportResult>;
  /**
   * A read shows no trace of attempt `tries`. Believed only from `ambiguous`, and only once `settleMs` have
   * passed since the row became ambiguous (or was attempted, if that is later).
   */
  absent(input: {
    readonly key: string;
    readonly tries: number;
    readonly evidence: OperationData;
    readonly settleMs: number;
  }): Promise<AbsentResult>;
  /** The provider holds something else: ours was not applied and will not be. */
  conflicted(input: {
    readonly key: string;
    readonly tries: number;
    readonly detail: string;
  }): Promise<ReportResult>;
  /** The provider refused for good, or the effect is no longer wanted. */
  abandoned(input: {
    readonly key: string;
    readonly tries: number;
    readonly detail: string;
  }): Promise<ReportResult>;
  find(key: string): Promise<Operation | null>;
}

/**
 * The operation's identity: work key + generation + kind + target version, never the attempt. Work keys are
 * opaque and up to 2 KB, so the parts are hashed as a JSON list: no separator can be forged.
 */
export function operationKey(parts: {
  readonly kind: OperationKind;
  readonly workKey: string;
  readonly generation: number;
  readonly targetVersion: string;
}): string {
  const text = JSON.stringify([parts.kind, parts.workKey, parts.generation, parts.targetVersion]);
  return `${parts.kind}:${createHash('sha256').update(text, 'utf8').digest('hex')}`;
}
