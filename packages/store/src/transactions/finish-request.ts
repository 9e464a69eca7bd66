/** What a worker hands in at the end of an attempt. */
import type { AttemptId, LeasedStatus, ReasonCode } from '@headgate/domain';
import type { Fence } from '../fence.js';

export type AttemptOutcome =
  | { readonly kind: 'succeeded'; readonly reasonCode: 'SUCCEEDED' | 'NO_CHANGE' }
  | {
      readonly kind: 'failed';
      readonly reasonCode: ReasonCode;
      readonly detail: string | null;
      readonly retryAfterMs: number | null;
    }
  /** Given back without a charge: drain, pause, breaker. */
  | { readonly kind: 'handed-back'; readonly reasonCode: ReasonCode; readonly retryAfterMs: number | null }
  | { readonly kind: 'no-work'; readonly reasonCode: ReasonCode; readonly detail: string | null }
  | { readonly kind: 'policy-denied'; readonly reasonCode: ReasonCode; readonly detail: string | null }
  /** The result is sealed and a person publishes it. */
  | { readonly kind: 'needs-approval' }
  /** The agent is known to have stopped after a cancel. */
  | { readonly kind: 'cancelled' };

export interface FinishRequest {
  readonly fence: Fence;
  readonly attemptId: AttemptId;
  readonly result: AttemptOutcome;
  /** Stages that the attempt went through, in their order, and that are not written yet. */
  readonly passed?: readonly LeasedStatus[];
  readonly costUsd: number;
  readonly evidence: unknown;
  readonly actor: string;
}
