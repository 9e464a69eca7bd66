/** What an explanation is made from: rows, as they stand in the database. */
import type { AttemptId, EventId, LeaseId, ReceiptId, RunId, TaskId, WorkerId } from '../ids.js';
import type { RunStatus } from '../lifecycle.js';
import type { OperationState } from '../operation.js';
import type { Outcome } from '../outcome.js';

export interface ReceiptFact {
  readonly id: ReceiptId;
  readonly kind: 'decision' | 'closing';
  readonly outcome: Outcome;
  readonly reasonCode: string;
  readonly message: string;
  readonly rule: string;
  readonly route: string | null;
  readonly existing: boolean;
  readonly at: Date;
  readonly source: string;
  readonly eventId: string;
  readonly type: string;
  readonly actor: string | null;
  readonly repository: string | null;
  readonly workKey: string | null;
  readonly inputVersion: string | null;
  readonly parentReceiptId: ReceiptId | null;
  /** Who wanted it decided once more. */
  readonly replayedBy: string | null;
  readonly taskId: TaskId | null;
  readonly runId: RunId | null;
}

export interface RunFact {
  readonly id: RunId;
  readonly taskId: TaskId;
  readonly receiptId: ReceiptId;
  readonly route: string;
  readonly repository: string | null;
  readonly workKey: string;
  readonly inputVersion: string;
  readonly generation: number;
  readonly status: RunStatus;
  readonly reasonCode: string | null;
  readonly reasonDetail: string | null;
  readonly statusAt: Date;
  readonly branch: string | null;
  readonly costUsd: number;
  /** Confirmed pushes of ours between the root of its chain and this run. */
  readonly hops: number;
  /** Runs of its task since a person, or a version that is not ours, began the chain; this one included. */
  readonly chainRuns: number;
  /** Null: its own receipt is the root. */
  readonly rootReceiptId: ReceiptId | null;
}

/** What a refused person was told where they asked. */
export interface FeedbackFact {
  readonly receiptId: ReceiptId;
  readonly repository: string;
  readonly number: string;
  readonly state: string;
  readonly reasonCode: string;
  readonly url: string | null;
  readonly detail: string | null;
  readonly at: Date;
  readonly settledAt: Date | null;
}

/** How a repository of a source was last looked at. */
export interface LookFact {
  readonly source: string;
  readonly repository: string;
  readonly lookedAt: Date;
  readonly outcome: string;
  readonly detail: string | null;
  /** Looks in a row that found nothing new, the last one included; 0: it found something. */
  readonly quietLooks: number;
}

export interface EventFact {
  readonly id: EventId;
  readonly at: Date;
  readonly type: string;
  readonly from: RunStatus | null;
  readonly to: RunStatus | null;
  readonly reasonCode: string | null;
  readonly actor: string | null;
  readonly attemptNo: number | null;
  readonly fencingToken: string | null;
  readonly leaseId: LeaseId | null;
  readonly runId: RunId | null;
  readonly taskId: TaskId | null;
  readonly data: unknown;
}

export interface OperationFact {
  readonly key: string;
  readonly kind: string;
  readonly state: OperationState;
  readonly externalId: string | null;
  readonly url: string | null;
  readonly tries: number;
  readonly runId: RunId;
}

export interface AttemptFact {
  readonly id: AttemptId;
  readonly runId: RunId;
  readonly number: number;
  readonly workerId: WorkerId;
  readonly status: string;
  readonly reasonCode: string | null;
  readonly detail: string | null;
  readonly finishedAt: Date | null;
  readonly costUsd: number;
  readonly leaseId: LeaseId;
}

/** Everything known about what the reference means. */
export interface Facts {
  readonly receipts: readonly ReceiptFact[];
  readonly runs: readonly RunFact[];
  readonly events: readonly EventFact[];
  readonly operations: readonly OperationFact[];
  readonly attempts: readonly AttemptFact[];
  readonly feedback: readonly FeedbackFact[];
  readonly looks: readonly LookFact[];
}

export const NO_FACTS: Facts = {
  receipts: [],
  runs: [],
  events: [],
  operations: [],
  attempts: [],
  feedback: [],
  looks: [],
};

/** The newest delivery of a source: what to compare with when nothing is known. */
export interface SourceSight {
  readonly source: string;
  readonly lastAt: Date | null;
  readonly lastType: string | null;
  readonly lastOutcome: Outcome | null;
  readonly lastReasonCode: string | null;
  /** The newest look at one of its repositories; null or absent: nobody looks. */
  readonly look?: LookFact | null;
}
