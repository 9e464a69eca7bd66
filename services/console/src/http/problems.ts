/** What the API says no with, besides authentication. */
import { HttpProblem } from '@headgate/service';

/** The same for what is not there and for what belongs to another tenant. */
export const notFound = (what: string): HttpProblem =>
  new HttpProblem({
    status: 404,
    code: 'NOT_FOUND',
    title: 'It is not here.',
    detail: `${what} is not known, is past its retention, or belongs to a tenant that this token may not see.`,
  });

export const badRequest = (detail: string): HttpProblem =>
  new HttpProblem({ status: 400, code: 'BAD_REQUEST', title: 'The request cannot be read.', detail });

export const wrongState = (detail: string): HttpProblem =>
  new HttpProblem({ status: 409, code: 'WRONG_STATE', title: 'It is not in a state for that.', detail });
