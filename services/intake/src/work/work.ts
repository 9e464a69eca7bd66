/**
 * `POST /v1/work`: a person, or a program in their name, asks a route for work. It bypasses nothing: the signal goes
 * through the same admission, with the token as its actor (I2).
 */
import type { Submission } from '@headgate/admission';
import type { Policy, RoutePolicy, Signal, SignalAnswer, Verdict } from '@headgate/domain';
import { formatId } from '@headgate/domain';
import { HttpProblem } from '@headgate/service';
import type { ActivePolicy, TokenHolder } from '@headgate/store';
import { currentTraceparent, span } from '@headgate/telemetry';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { acknowledged } from '../http/acknowledge.js';
import type { IntakeRoutes } from '../http/router.js';
import { reachedBy } from '../repositories/reached.js';
import { authenticate } from './authenticate.js';
import { Idempotency, idempotentRequest } from './idempotency.js';
import { type ReadBody, readWorkRequest } from './request-body.js';
import { type Resolved, resolveWork } from './resolve.js';
import { sendWorkAnswer, workAnswer } from './work-answer.js';

const MAX_BODY = '1mb';
const SOURCE_RETRY_SECONDS = 10;

export function work(routes: IntakeRoutes): RequestHandler[] {
  const idempotency = new Idempotency(routes.context);
  const raw = express.raw({ type: () => true, limit: MAX_BODY });
  const answer: RequestHandler = (request, response) =>
    span('intake.work', {}, () => receive(routes, idempotency, request, response));
  return [raw, answer];
}

async function receive(
  routes: IntakeRoutes,
  idempotency: Idempotency,
  request: Request,
  response: Response,
): Promise<void> {
  const { clock } = routes.context;
  const holder = await authenticate(routes.context, request);
  if (request.is('application/json') === false) throw notJson();
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const body = readWorkRequest(bytes);
  const json = body.kind === 'unreadable' ? bytes.toString('base64') : body.json;
  const repeatable = idempotentRequest(request.get('idempotency-key'), holder.tenantId, json);
  if (repeatable === null) {
    const answer = await decide(routes, { holder, body, bytes, eventId: null });
    sendWorkAnswer(response, workAnswer(answer, clock.now()));
    return;
  }

  const begun = await idempotency.begin(repeatable);
  if (begun.kind === 'answered') {
    sendWorkAnswer(response, begun.answer);
    return;
  }
  let answer: SignalAnswer;
  if (begun.kind === 'decided') {
    answer = begun.answer;
  } else {
    try {
      answer = await decide(routes, { holder, body, bytes, eventId: repeatable.eventId });
    } catch (fault) {
      await idempotency.drop(repeatable);
      throw fault;
    }
  }
  const sent = { ...workAnswer(answer, clock.now()), isReplay: begun.kind === 'decided' };
  await idempotency.complete(repeatable, sent);
  sendWorkAnswer(response, sent);
}

interface Asked {
  readonly holder: TokenHolder;
  readonly body: ReadBody;
  readonly bytes: Buffer;
  readonly eventId: string | null;
}

/** Rejects with a problem when nothing could be decided; else there is a receipt. */
async function decide(routes: IntakeRoutes, asked: Asked): Promise<SignalAnswer> {
  const { context, admission } = routes;
  const submission = await acknowledged(context.logger, submissionOf(routes, asked));
  return acknowledged(context.logger, admission.submit(submission));
}

async function submissionOf({ context, heads }: IntakeRoutes, asked: Asked): Promise<Submission> {
  const { holder, body, bytes, eventId } = asked;
  const active = context.policy.current();
  const name = routeNameOf(body, holder, active);
  const route = routeFor(name, holder, active);
  const resolved = await resolvedFrom(body, route, active.policy, heads);
  if (resolved.kind === 'unavailable') throw sourceUnavailable(resolved.detail);
  const { verdict, ...place } = resolved;
  const given = body.kind === 'request' ? body.request : null;
  const signal: Signal = {
    source: 'api',
    eventId: eventId ?? formatId('evt', context.ids.next('evt')),
    type: 'manual',
    trigger: 'manual',
    via: 'api',
    hookId: null,
    subject: place.repository?.fullName ?? null,
    emittedAt: null,
    receivedAt: context.clock.now(),
    actor: { kind: 'token', id: holder.id, name: holder.name },
    repository: place.repository,
    target: place.target,
    inputVersion: place.inputVersion,
    // A person's call says nothing about which version is newer.
    sourceAt: null,
    parentVersions: [],
    data: {
      route: name,
      workKey: given?.workKey ?? null,
      inputs: given?.inputs ?? null,
      reason: given?.reason ?? null,
    },
    traceparent: currentTraceparent(),
  };
  return {
    signal,
    tenant: tenantOf(holder, route, active),
    payload: { mediaType: 'application/json', body: bytes },
    verdict: verdict ?? (route === null ? (name === null ? namesNone(body) : noRoute(name)) : null),
    headStartSeconds: given?.priority ?? null,
  };
}

const resolvedFrom = (
  body: ReadBody,
  route: RoutePolicy | null,
  policy: Policy,
  heads: IntakeRoutes['heads'],
): Promise<Resolved> | Resolved => {
  if (body.kind === 'request') return resolveWork(body.request, route, policy, heads);
  const verdict = body.kind === 'invalid' ? invalid(body.detail) : malformed(body.detail);
  return { kind: 'resolved', repository: null, target: null, inputVersion: null, verdict };
};

/** The one that was named; else the only one that a person may start on the repository. */
function routeNameOf(body: ReadBody, holder: TokenHolder, active: ActivePolicy): string | null {
  if (body.kind === 'unreadable') return null;
  if (body.kind === 'invalid') return body.route;
  const { route, repository } = body.request;
  if (route != null) return route;
  if (repository == null) return null;
  const wanted = repository.toLowerCase();
  const possible = active.policy.routes.filter(
    (one) =>
      routeFor(one.id, holder, active) !== null &&
      one.on.some(({ kind }) => kind === 'manual') &&
      reachedBy(one, active.policy).some((reached) => reached.repository.fullName.toLowerCase() === wanted),
  );
  return possible.length === 1 ? (possible[0]?.id ?? null) : null;
}

/** A route of another tenant does not exist for this token. */
function routeFor(name: string | null, holder: TokenHolder, active: ActivePolicy): RoutePolicy | null {
  const route = active.policy.routes.find((one) => one.id === name);
  if (route === undefined) return null;
  const isTheirs = holder.tenantId === null || active.tenantIds.get(route.tenant) === holder.tenantId;
  return isTheirs ? route : null;
}

function tenantOf(holder: TokenHolder, route: RoutePolicy | null, active: ActivePolicy): string {
  if (route !== null) return route.tenant;
  const own = [...active.tenantIds].find(([, id]) => id === holder.tenantId)?.[0];
  return own ?? active.policy.tenants[0]?.id ?? 'default';
}

const noRoute = (name: string): Verdict => ({
  outcome: 'reject',
  reasonCode: 'NO_ROUTE',
  detail: `No route is called "${name.slice(0, 80)}".`,
  retryAfter: null,
  rule: 'route',
});

/** Null for a body that has its own verdict. */
const namesNone = (body: ReadBody): Verdict | null =>
  body.kind === 'request'
    ? invalid('The request names no route, and not exactly one that lists "manual" works on its repository.')
    : null;

const invalid = (detail: string): Verdict => ({
  outcome: 'reject',
  reasonCode: 'TASK_CONTRACT_INVALID',
  detail,
  retryAfter: null,
  rule: 'work-request',
});

const malformed = (detail: string): Verdict => ({
  outcome: 'reject',
  reasonCode: 'MALFORMED',
  detail,
  retryAfter: null,
});

const notJson = (): HttpProblem =>
  new HttpProblem({
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    title: 'The body is not JSON.',
    detail: 'Send Content-Type: application/json.',
  });

const sourceUnavailable = (detail: string): HttpProblem =>
  new HttpProblem({
    status: 503,
    code: 'SOURCE_UNAVAILABLE',
    title: 'The repository could not be read, so its head is not known.',
    detail: `${detail} Try again, or send inputVersion.`,
    retryAfterSeconds: SOURCE_RETRY_SECONDS,
  });
