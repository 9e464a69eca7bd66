import type { ReceiptId, RunId, TaskId } from './ids.js';
import type { ReasonCode } from './reasons.js';

/** The four outcomes of intake (I9). */
export type Outcome = 'accept' | 'defer' | 'reject' | 'no-work';

/** What a sender is told: the receipt, in short. `existing` = runId names a run that was there before. */
export interface SignalAnswer {
  readonly receiptId: ReceiptId;
  readonly outcome: Outcome;
  readonly reasonCode: ReasonCode;
  readonly message: string;
  readonly runId: RunId | null;
  readonly taskId: TaskId | null;
  readonly existing: boolean;
  readonly retryAfter: Date | null;
}
