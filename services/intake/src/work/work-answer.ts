/** The HTTP answer to a request for work, in a form that can be kept and given again. */
import { formatId, reasonOf, type SignalAnswer } from '@headgate/domain';
import { answerBody, problemBody } from '@headgate/service';
import type { Response } from 'express';

export interface WorkAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly isReplay: boolean;
  readonly retryAfterSeconds: number | null;
}

/** 202, or for what was refused the code's own status as a problem that carries the answer. */
export function workAnswer(answer: SignalAnswer, now: Date): WorkAnswer {
  const { httpStatus, message } = reasonOf(answer.reasonCode);
  // A refusal is never an acknowledgement, also where the same code elsewhere means "later".
  const status = answer.outcome === 'reject' && httpStatus < 400 ? 422 : httpStatus;
  const retryAfterSeconds =
    answer.retryAfter === null
      ? null
      : Math.max(1, Math.ceil((answer.retryAfter.getTime() - now.getTime()) / 1_000));
  const body =
    status < 400
      ? answerBody(answer)
      : problemBody({
          status,
          code: answer.reasonCode,
          title: message,
          detail: answer.message,
          receiptId: formatId('rcpt', answer.receiptId),
          members: answerBody(answer),
        });
  return { status, body, isReplay: false, retryAfterSeconds };
}

export function sendWorkAnswer(response: Response, answer: WorkAnswer): void {
  if (answer.isReplay) response.setHeader('idempotency-replayed', 'true');
  if (answer.retryAfterSeconds !== null) {
    response.setHeader('retry-after', String(answer.retryAfterSeconds));
  }
  response
    .status(answer.status)
    .type(answer.status < 400 ? 'application/json' : 'application/problem+json')
    .send(JSON.stringify(answer.body));
}
