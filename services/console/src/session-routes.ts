/** Sign-in and sign-out of a browser: the token is sent once, and the cookie is worth it until either ends. */
import { HttpProblem, type ServiceContext } from '@headgate/service';
import { sessions } from '@headgate/store';
import type { RequestHandler, Router } from 'express';
import {
  clearSessionCookie,
  foreignOrigin,
  isSameOrigin,
  SESSION_TTL_MS,
  sessionSecretOf,
  setSessionCookie,
} from './auth/index.js';
import { badRequest, jsonBody } from './http/index.js';
import { z } from './schemas/index.js';

const signInBody = z.strictObject({ token: z.string().min(1).max(200) });

export function mountSessions(
  router: Router,
  context: ServiceContext,
  before: readonly RequestHandler[],
): void {
  router.post('/session', ...before, ...jsonBody('4kb'), async (request, response) => {
    // A page of another site must not sign a browser in as somebody else.
    if (!isSameOrigin(request)) throw foreignOrigin();
    const body = signInBody.safeParse(request.body);
    if (!request.is('application/json') || !body.success)
      throw badRequest('Send {"token": "…"} as application/json.');
    const opened = await context.database.api.use((c) => sessions.open(c, body.data.token, SESSION_TTL_MS));
    if (opened === null) throw wrongToken();
    setSessionCookie(request, response, opened.secret);
    response.setHeader('cache-control', 'no-store');
    response.status(204).end();
  });
  router.delete('/session', ...before, async (request, response) => {
    if (!isSameOrigin(request)) throw foreignOrigin();
    const secret = sessionSecretOf(request);
    if (secret !== null) await context.database.api.use((c) => sessions.close(c, secret));
    clearSessionCookie(request, response);
    response.setHeader('cache-control', 'no-store');
    response.status(204).end();
  });
}

const wrongToken = (): HttpProblem =>
  new HttpProblem({
    status: 401,
    code: 'UNAUTHORIZED',
    title: 'The token is not valid.',
    detail: 'It is unknown, has ended, or was revoked. A token looks like hg_… and is never shown twice.',
  });
