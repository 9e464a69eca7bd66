/**
 * How a run leaves where it is: the steps that one transaction writes, each by its own UPDATE and with its
 * own event. Statuses that are never at rest (STALE_LEASE, FAILED_RETRYABLE) are passed through here.
 */
import { isCancelling, isLegal, isTerminal, isWaiting, type RunStatus } from './lifecycle.js';

export type FinishResult =
  | { readonly kind: 'succeeded' }
  /** `retry` false = it stays failed: not retryable, or nothing left to try. */
  | { readonly kind: 'failed'; readonly retry: boolean }
  /** The lease ran out; said by the reaper. */
  | { readonly kind: 'lease-lost'; readonly retry: boolean }
  /** Handed back without a failure: drain, freeze, pause, breaker, rate limit. */
  | { readonly kind: 'handed-back' }
  | { readonly kind: 'no-work' }
  | { readonly kind: 'policy-denied' }
  /** The result is sealed and a person must look at it. */
  | { readonly kind: 'needs-approval' }
  /** Somebody asks it to stop. With a lease this is the first step only: the agent has to be seen to stop. */
  | { readonly kind: 'cancel-requested' }
  /** The agent is known to have stopped, or its lease ran out. */
  | { readonly kind: 'cancelled' }
  /** A newer version stands. A run whose effects are already under way is left to finish them. */
  | { readonly kind: 'superseded' }
  | { readonly kind: 'expired' };

const CANCEL_STEPS: readonly RunStatus[] = ['CANCEL_REQUESTED', 'CANCELLING', 'CANCELLED'];

/**
 * The statuses that a result leads through, the last one at rest. Empty = refused, the run stays as it is: it
 * has ended already, or the result is none that a run in this status can have.
 *
 * In the two cancel states every result ends CANCELLED: a late success does not undo a cancel (Q5).
 */
export function finishPath(status: RunStatus, result: FinishResult): readonly RunStatus[] {
  if (isTerminal(status)) return [];
  if (isCancelling(status)) return cancelPath(status, result);
  const steps = stepsOf(status, result);
  return isLegalPath(status, steps) ? steps : [];
}

function cancelPath(status: RunStatus, result: FinishResult): readonly RunStatus[] {
  if (result.kind === 'cancel-requested') return [];
  return CANCEL_STEPS.slice(CANCEL_STEPS.indexOf(status) + 1);
}

function stepsOf(status: RunStatus, result: FinishResult): readonly RunStatus[] {
  switch (result.kind) {
    case 'succeeded':
      return ['SUCCEEDED'];
    case 'failed':
      return result.retry ? ['FAILED_RETRYABLE', 'QUEUED'] : ['FAILED'];
    case 'lease-lost':
      return result.retry ? ['STALE_LEASE', 'FAILED_RETRYABLE', 'QUEUED'] : ['STALE_LEASE', 'FAILED'];
    case 'handed-back':
      return ['FAILED_RETRYABLE', 'QUEUED'];
    case 'no-work':
      return ['NO_WORK'];
    case 'policy-denied':
      return ['POLICY_DENIED'];
    case 'needs-approval':
      return ['WAITING_APPROVAL'];
    case 'cancel-requested':
      return isWaiting(status) ? CANCEL_STEPS : ['CANCEL_REQUESTED'];
    case 'cancelled':
      return CANCEL_STEPS;
    case 'superseded':
      if (status === 'FINALIZING') return [];
      return isWaiting(status) ? ['SUPERSEDED'] : ['CANCEL_REQUESTED'];
    case 'expired':
      return ['EXPIRED'];
  }
}

function isLegalPath(status: RunStatus, steps: readonly RunStatus[]): boolean {
  let from = status;
  for (const to of steps) {
    if (!isLegal(from, to)) return false;
    from = to;
  }
  return true;
}
