import type { SignalAnswer } from '@headgate/domain';
import { answerBody } from '@headgate/service';
import type { Response } from 'express';

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
