/** A signal's answer as programs see it: TypeIDs and RFC 3339 (surfaces: contract for scripts). */
import { formatId, formatIdOrNull, type SignalAnswer } from '@headgate/domain';
import type { Response } from 'express';

export type AnswerBody = {
  readonly receiptId: string;
  readonly outcome: string;
  readonly reasonCode: string;
  readonly message: string;
  readonly runId: string | null;
  readonly taskId: string | null;
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

/** 202 with the answer. Written as it is: there is no caching, charset or method to negotiate about. */
export function sendAccepted(response: Response, answer: SignalAnswer): void {
  const body = JSON.stringify(answerBody(answer));
  response
    .writeHead(202, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    })
    .end(body);
}
