/** Puts declared routes onto Express: who, may they, what; then the handler; then the answer. */
import type { ServiceContext } from '@headgate/service';
import type { RequestHandler, Router } from 'express';
import type { z } from 'zod';
import {
  type Caller,
  callerOf,
  forbidden,
  foreignOrigin,
  isSameOrigin,
  mayAct,
  unauthorized,
} from '../auth/index.js';
import { jsonBody } from './json-body.js';
import { badRequest } from './problems.js';
import type { ObjectSchema, Route, RouteInput } from './route.js';

const BODY_LIMIT = '1mb';

export function mountRoutes(
  router: Router,
  context: ServiceContext,
  routes: readonly Route[],
  before: readonly RequestHandler[],
): void {
  const readJson = jsonBody(BODY_LIMIT);
  for (const one of routes) {
    // A colon is a custom method's (`/v1/runs:bulk`), not a parameter.
    const path = one.spec.path.replaceAll(':', '\\:').replaceAll(/\{(\w+)\}/g, ':$1');
    const parsers = one.spec.body === null ? [] : readJson;
    router[one.spec.method](path, ...before, signedIn(context, one), ...parsers, answer(one));
  }
}

/** Before the body is read: a stranger costs one look-up. */
function signedIn(context: ServiceContext, { spec }: Route): RequestHandler {
  return async (request, response, next) => {
    const caller = await callerOf(context, request);
    if (caller === null) {
      response.setHeader('www-authenticate', 'Bearer realm="headgate"');
      throw unauthorized();
    }
    if (!mayAct(caller.role, spec.role)) throw forbidden(caller, spec.role);
    if (caller.via === 'session' && spec.method !== 'get' && !isSameOrigin(request)) throw foreignOrigin();
    response.locals['caller'] = caller;
    next();
  };
}

function answer({ spec, handle }: Route): RequestHandler {
  return async (request, response) => {
    const input: RouteInput<unknown, unknown> = {
      caller: response.locals['caller'] as Caller,
      params: request.params as Record<string, string>,
      query: parsed(spec.query, request.query, 'query'),
      body: spec.body === null ? null : parsed(spec.body, request.body, 'body'),
      request,
      response,
    };
    const result = await handle(input);
    if (spec.answer.schema === 'bytes' || spec.answer.schema === 'events') return;
    response.setHeader('cache-control', 'no-store');
    response.status(spec.answer.status).json(result);
  };
}

function parsed(schema: ObjectSchema, value: unknown, where: 'query' | 'body'): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw badRequest(result.error.issues.map((issue) => issueWords(issue, where)).join(' '));
}

const issueWords = (issue: z.core.$ZodIssue, where: string): string =>
  `${[where, ...issue.path].join('.')}: ${issue.message}.`.replace(/\.\.$/, '.');
