/** RFC 9457 problem details: a stable `code`, and a sentence that says what to do. */

import { type ReasonCode, reasonOf } from '@headgate/domain';
import type { Logger } from '@headgate/telemetry';
import type { ErrorRequestHandler, Response } from 'express';

export interface Problem {
  readonly status: number;
  /** A reason code, or an HTTP-level one (NOT_FOUND, UNAUTHORIZED, TOO_LARGE …). */
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly receiptId?: string | null;
  readonly retryAfterSeconds?: number;
  /** Further members (RFC 9457), e.g. the run that a duplicate met. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** The body of a problem, as it is sent. */
export const problemBody = (problem: Problem): Readonly<Record<string, unknown>> => ({
  type: `https://headgate.dev/problems/${problem.code.toLowerCase().replaceAll('_', '-')}`,
  title: problem.title,
  status: problem.status,
  detail: problem.detail,
  code: problem.code,
  receiptId: problem.receiptId ?? null,
  ...problem.members,
});

/** Throw it anywhere in a handler. */
export class HttpProblem extends Error {
  readonly problem: Problem;
  constructor(problem: Problem, options?: ErrorOptions) {
    super(problem.detail, options);
    this.name = 'HttpProblem';
    this.problem = problem;
  }
}

/** The problem of a reason code, with the catalogue's sentence as its title. */
export const problemOf = (
  code: ReasonCode,
  status: number,
  detail: string,
  receiptId: string | null = null,
): Problem => ({
  status,
  code,
  title: reasonOf(code).message,
  detail,
  receiptId,
});

export function sendProblem(response: Response, problem: Problem): void {
  if (problem.retryAfterSeconds !== undefined)
    response.setHeader('retry-after', String(problem.retryAfterSeconds));
  response
    .status(problem.status)
    .type('application/problem+json')
    .send(JSON.stringify(problemBody(problem)));
}

/** The last middleware. A fault of ours is logged and answered without its inside. */
export function problemHandler(logger: Logger): ErrorRequestHandler {
  return (fault: unknown, _request, response, next) => {
    if (response.headersSent) {
      next(fault);
      return;
    }
    if (fault instanceof HttpProblem) {
      sendProblem(response, fault.problem);
      return;
    }
    const known = parserProblem(fault);
    if (known !== null) {
      sendProblem(response, known);
      return;
    }
    logger.error({ err: fault }, 'request failed');
    sendProblem(response, {
      status: 500,
      code: 'INTERNAL_ERROR',
      title: 'Headgate itself failed.',
      detail: 'The fault is in the log of this process. Nothing that was acknowledged is lost; try again.',
    });
  };
}

/** Faults of Express's own parsers: size, encoding, broken percent signs. */
function parserProblem(fault: unknown): Problem | null {
  if (!(fault instanceof Error) || !('status' in fault) || typeof fault.status !== 'number') return null;
  const { status } = fault;
  if (status < 400 || status > 499) return null;
  if (status === 413) {
    return {
      status,
      code: 'TOO_LARGE',
      title: 'The body is too large.',
      detail: 'Send a smaller body; webhooks are limited to 25 MB, other requests to 1 MB.',
    };
  }
  if (status === 415) {
    return {
      status,
      code: 'UNSUPPORTED_MEDIA_TYPE',
      title: 'The encoding is not supported.',
      detail: fault.message,
    };
  }
  return { status, code: 'BAD_REQUEST', title: 'The request cannot be read.', detail: fault.message };
}
