/** Answers to what a person asks for again, as they are shown. */
import {
  type SignalAnswer as Decided,
  formatId,
  formatIdOrNull,
  type Outcome,
  reasonOf,
} from '@headgate/domain';
import type { SignalAnswer } from '@headgate/sdk';
import { HttpProblem, problemOf } from '@headgate/service';
import { instantOrNull } from '../queries/index.js';

export const isTaken = ({ outcome }: { readonly outcome: Outcome }): boolean =>
  outcome === 'accept' || outcome === 'defer';

/** A refusal is a problem that names its receipt. */
export function taken(answer: SignalAnswer): SignalAnswer {
  if (isTaken(answer)) return answer;
  const { httpStatus } = reasonOf(answer.reasonCode);
  throw new HttpProblem(
    problemOf(answer.reasonCode, httpStatus >= 400 ? httpStatus : 409, answer.message, answer.receiptId),
  );
}

export const shownAnswer = (answer: Decided): SignalAnswer => ({
  receiptId: formatId('rcpt', answer.receiptId),
  outcome: answer.outcome,
  reasonCode: answer.reasonCode,
  message: answer.message,
  runId: formatIdOrNull('run', answer.runId),
  taskId: formatIdOrNull('task', answer.taskId),
  existing: answer.existing,
  retryAfter: instantOrNull(answer.retryAfter),
});
