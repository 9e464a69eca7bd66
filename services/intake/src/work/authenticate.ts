import { HttpProblem, type ServiceContext } from '@headgate/service';
import { apiTokens, type TokenHolder } from '@headgate/store';
import type { Request } from 'express';
import { acknowledged } from '../http/acknowledge.js';

const BEARER = /^Bearer +(\S+) *$/i;
const MAY_ASK = ['operator', 'admin'];

/** Who asks for work. A token that does not exist, was revoked or has expired is told nothing more than that. */
export async function authenticate(context: ServiceContext, request: Request): Promise<TokenHolder> {
  const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
  const asked =
    token === undefined ? null : context.database.service.use((c) => apiTokens.authenticate(c, token));
  const holder = asked === null ? null : await acknowledged(context.logger, asked);
  if (holder === null) {
    throw new HttpProblem({
      status: 401,
      code: 'UNAUTHORIZED',
      title: 'A valid token is needed.',
      detail:
        'Send "Authorization: Bearer <token>". A new instance keeps its admin token in the data folder (admin-token).',
    });
  }
  if (!MAY_ASK.includes(holder.role)) {
    throw new HttpProblem({
      status: 403,
      code: 'FORBIDDEN',
      title: 'This token may not ask for work.',
      detail: `Its role is ${holder.role}; operator or admin is needed.`,
    });
  }
  return holder;
}
