/** What a worker hands in at the end of an attempt. */
import type { AttemptId, LeasedStatus, ReasonCode } from '@headgate/domain';
import type { Fence } from '../fence.js';
import type { NewApproval } from '../tables/approvals.js';

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
  | { readonly kind: 'needs-approval'; readonly proposal: Proposal; readonly detail: string | null }
  /** The agent is known to have stopped after a cancel. */
  | { readonly kind: 'cancelled' };

/** What a person will be asked about the sealed result. */
export type Proposal = Pick<NewApproval, 'policyVersion' | 'operations' | 'fourEyes'>;

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
