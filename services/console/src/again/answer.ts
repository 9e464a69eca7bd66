/** Answers to what a person asks for again, as they are shown. */
import { type Outcome, reasonOf } from '@headgate/domain';
import type { SignalAnswer } from '@headgate/sdk';
import { HttpProblem, problemOf } from '@headgate/service';

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
