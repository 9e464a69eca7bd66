/** What a person is asked about a run, what was said, and what can be done with it now. */
import type { ApprovalOutcome, ApprovalSubject, ProposedOperation } from '@headgate/domain';
import type { AboutRun, Instant, PageQuery } from './shared.js';

/** The newest request that the run made of people. */
export interface Approval {
  readonly id: string;
  /** `proposal`: its result is sealed, publish or discard it. `admission`: nothing was done yet, approve or decline it. */
  readonly subject: ApprovalSubject;
  readonly requestedAt: Instant;
  readonly expiresAt: Instant;
  /** Who asked for the work: `token:ci`; null: nobody did. */
  readonly requester: string | null;
  /** The requester's own consent does not count. */
  readonly fourEyes: boolean;
  readonly policyVersion: number;
  /** `sha256` of the sealed result; null: nothing was sealed yet. */
  readonly resultSha256: string | null;
  /** What is done once it is published. */
  readonly operations: ProposedOperation[];
  /** Null: nobody has answered yet. */
  readonly outcome: ApprovalOutcome | null;
  readonly decidedAt: Instant | null;
  readonly decidedBy: string | null;
  readonly reason: string | null;
}

/** A request with the run that it is about, as the list of requests shows it. */
export interface ListedApproval extends Approval, AboutRun {}

export interface ApprovalQuery extends PageQuery {
  /** Only those that nobody has answered yet, or only those that somebody has. Default: all. */
  readonly open?: boolean;
}

export type RunActionName = 'publish' | 'discard' | 'approve' | 'decline' | 'cancel' | 'retry';

/** One thing that can be done with a run as it stands. */
export interface RunAction {
  readonly name: RunActionName;
  /** The smallest role that may. */
  readonly role: 'viewer' | 'operator' | 'approver' | 'admin';
  /** Whether whoever asked may do it. */
  readonly allowed: boolean;
  /** Why not; null: allowed. */
  readonly why: string | null;
}

export interface WordRequest {
  /** The request that was read; by default the newest. */
  readonly approvalId?: string;
  /** Kept in the run's record. */
  readonly reason?: string;
}
