/** A signal's answer as programs see it: TypeIDs and RFC 3339 (surfaces: contract for scripts). */
import { formatId, formatIdOrNull, type Outcome, type ReasonCode, type SignalAnswer } from '@headgate/domain';

export type AnswerBody = {
  readonly receiptId: string;
  readonly outcome: Outcome;
  readonly reasonCode: ReasonCode;
  readonly message: string;
  readonly runId: string | null;
  readonly taskId: string | null;
  /** `runId` names a run that was there before. */
  readonly existing: boolean;
  readonly retryAfter: string | null;
};

export const answerBody = (answer: SignalAnswer): AnswerBody => ({
  receiptId: formatId('rcpt', answer.receiptId),
  outcome: answer.outcome,
  reasonCode: answer.reasonCode,
  message: answer.message,
  runId: formatIdOrNull('run', answer.runId),
  taskId: formatIdOrNull('task', answer.taskId),
  existing: answer.existing,
  retryAfter: answer.retryAfter?.toISOString() ?? null,
});
