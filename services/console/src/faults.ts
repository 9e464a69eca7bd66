/** Faults that have a better answer than 500: Postgres is away, too much at once, no policy yet. */
import { OverloadedError } from '@headgate/admission';
import { NoPolicyError, sendProblem } from '@headgate/service';
import { isConnectionFault } from '@headgate/store';
import type { ErrorRequestHandler } from 'express';

export const unavailable: ErrorRequestHandler = (fault, _request, response, next) => {
  if (response.headersSent) {
    next(fault);
  } else if (isConnectionFault(fault)) {
    sendProblem(response, {
      status: 503,
      code: 'DATABASE_UNAVAILABLE',
      title: 'Postgres cannot be reached.',
      detail: 'Nothing was changed that was not answered. Try again; /readyz says when it is back.',
      retryAfterSeconds: 2,
    });
  } else if (fault instanceof OverloadedError) {
    sendProblem(response, {
      status: 503,
      code: 'OVERLOADED',
      title: 'Too much arrives at once.',
      detail: 'Nothing was recorded. Try again.',
      retryAfterSeconds: 1,
    });
  } else if (fault instanceof NoPolicyError) {
    sendProblem(response, {
      status: 503,
      code: 'NO_POLICY',
      title: 'No policy is active.',
      detail: fault.message,
      retryAfterSeconds: 5,
    });
  } else {
    next(fault);
  }
};
