import { HttpProblem } from '@headgate/service';
import type { TokenRole } from '@headgate/store';
import type { Caller } from './caller.js';

export const unauthorized = (): HttpProblem =>
  new HttpProblem({
    status: 401,
    code: 'UNAUTHORIZED',
    title: 'This needs a token.',
    detail:
      'Send "Authorization: Bearer <token>", or sign in at /login. A new instance prints its admin token when it is ready, and keeps it in the data folder (admin-token).',
  });

export const forbidden = (caller: Caller, needed: TokenRole): HttpProblem =>
  new HttpProblem({
    status: 403,
    code: 'FORBIDDEN',
    title: 'This token may not do that.',
    detail: `Token "${caller.name}" is ${caller.role}; this needs ${needed}.`,
  });

export const foreignOrigin = (): HttpProblem =>
  new HttpProblem({
    status: 403,
    code: 'FOREIGN_ORIGIN',
    title: 'This was not sent by the console.',
    detail: 'With the console’s cookie only pages of this address may act; scripts send a bearer token.',
  });
