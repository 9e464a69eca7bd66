/**
 * The bytes of a body, bounded in size and time, and never inflated: a signature covers the bytes as they came, and a
 * small body must not become a large one. Who goes beyond a bound is answered, and the connection is closed.
 */
import { HttpProblem } from '@headgate/service';
import express, { type Request, type RequestHandler } from 'express';

/** GitHub sends nothing above this. */
const MAX_BODY = '25mb';
/** GitHub gives up after ten seconds; nobody who means it takes longer. */
const BODY_WITHIN_MS = 20_000;

export type BodyFault = 'encoding' | 'size' | 'time';

/** `onFault` is told of each body that was not let in, before its sender is. */
export function boundedBody(
  onFault: (request: Request, fault: BodyFault) => void,
  withinMs: number = BODY_WITHIN_MS,
): readonly RequestHandler[] {
  const plain: RequestHandler = (request, _response, next) => {
    const encoding = request.headers['content-encoding'];
    if (encoding === undefined || encoding === 'identity') return next();
    onFault(request, 'encoding');
    throw new HttpProblem({
      status: 415,
      code: 'UNSUPPORTED_MEDIA_TYPE',
      title: 'Compressed bodies are not taken.',
      detail: 'Send it without Content-Encoding.',
    });
  };
  const raw = express.raw({ type: () => true, limit: MAX_BODY, inflate: false });
  const timed: RequestHandler = (request, response, next) => {
    let isOver = false;
    const finish = (fault?: unknown): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      if (isTooLarge(fault)) onFault(request, 'size');
      next(fault);
    };
    const timer = setTimeout(() => {
      onFault(request, 'time');
      // The rest of the body is not waited for: the connection goes with the answer.
      response.setHeader('connection', 'close');
      response.once('finish', () => request.socket.destroySoon());
      finish(tooSlow(withinMs));
    }, withinMs);
    // A sender who hangs up leaves nobody to answer.
    request.once('aborted', () => clearTimeout(timer));
    raw(request, response, finish);
  };
  return [plain, timed];
}

const isTooLarge = (fault: unknown): boolean =>
  typeof fault === 'object' && fault !== null && 'status' in fault && fault.status === 413;

const tooSlow = (withinMs: number): HttpProblem =>
  new HttpProblem({
    status: 408,
    code: 'BODY_TOO_SLOW',
    title: 'The body did not arrive in time.',
    detail: `It must be complete within ${withinMs / 1000} s. Nothing was acknowledged; send it again.`,
  });
