/**
 * Who asks: a bearer token, or the console's cookie. Asked anew for each request, so that a revoked token and a closed
 * session end at once. Runs as the console's own role, which can read neither tokens nor sessions: two functions of the
 * database answer for a hash.
 */
import type { ServiceContext } from '@headgate/service';
import { apiTokens, sessions, type TokenHolder, tenants } from '@headgate/store';
import type { Request } from 'express';
import type { Caller } from './caller.js';
import { sessionSecretOf } from './cookie.js';

/** Null: not signed in. A bearer token that is wrong is not made good by a cookie. */
export async function callerOf(context: ServiceContext, request: Request): Promise<Caller | null> {
  const token = bearerOf(request);
  const secret = token === null ? sessionSecretOf(request) : null;
  if (token === null && secret === null) return null;
  return context.database.api.use(async (c) => {
    const holder =
      token !== null ? await apiTokens.authenticate(c, token) : await sessions.holder(c, secret ?? '');
    if (holder === null) return null;
    const visible = holder.tenantId === null ? await tenants.idsForToken(c) : [holder.tenantId];
    return callerFrom(holder, visible, token === null ? 'session' : 'bearer');
  });
}

const callerFrom = (holder: TokenHolder, visible: readonly number[], via: Caller['via']): Caller => ({
  tokenId: holder.id,
  name: holder.name,
  role: holder.role,
  tenantId: holder.tenantId,
  tenants: visible,
  via,
});

function bearerOf(request: Request): string | null {
  const header = request.get('authorization');
  if (header === undefined) return null;
  // A scheme that we do not know is an answer too: the wrong one.
  return /^bearer +(\S+)$/i.exec(header.trim())?.[1] ?? '';
}
