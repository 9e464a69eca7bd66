/**
 * `POST /webhooks/{source}`: verify over the raw bytes, normalise, admit. 202 for every outcome; nobody else is asked
 * before the answer (live permission and head belong to the verdict before the lease).
 */
import type { Submission } from '@headgate/admission';
import type { SourcePolicy } from '@headgate/domain';
import { HttpProblem, problemOf, type ServiceContext } from '@headgate/service';
import { type HookReading, judgeSignal, malformedVerdict, moduleOf } from '@headgate/sources';
import { currentTraceparent, span } from '@headgate/telemetry';
import type { Request, RequestHandler, Response } from 'express';
import { sendAccepted } from '../http/accepted.js';
import { acknowledged } from '../http/acknowledge.js';
import { boundedBody } from '../http/bounded-body.js';
import type { IntakeRoutes } from '../http/router.js';
import { noPolicyYet, noSuchSource, unreadable } from './problems.js';

export function webhooks(routes: IntakeRoutes): RequestHandler[] {
  const { context, refusals } = routes;
  // The source is looked up first, so that nobody can make us read 25 MB for a name that does not exist.
  const known: RequestHandler = (request, _response, next) => {
    sourceOf(context, request);
    next();
  };
  const body = boundedBody((request, kind) => refusals.count(sourceOf(context, request), kind));
  return [
    known,
    ...body,
    (request, response) => span('intake.webhook', {}, () => receive(routes, request, response)),
  ];
}

async function receive(routes: IntakeRoutes, request: Request, response: Response): Promise<void> {
  const { context, admission, secrets, refusals } = routes;
  const source = sourceOf(context, request);
  const { hook } = moduleOf(source);
  if (hook === null) throw noSuchSource();
  const rawBody = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const receivedAt = context.clock.now();
  const asked = { source, rawBody, headers: request.headers, receivedAt, traceparent: currentTraceparent() };
  const proof = hook.verify(asked, await secrets.of(source));
  if (!proof.ok) {
    refusals.count(source, 'signature');
    throw new HttpProblem(problemOf('SIGNATURE_INVALID', 401, proof.detail));
  }
  const reading = hook.read(asked);
  const answer = await acknowledged(context.logger, admission.submit(submissionOf(source, reading, request)));
  if (reading.kind === 'malformed') throw unreadable(reading.isMedia, answer);
  sendAccepted(response, answer);
}

const submissionOf = (source: SourcePolicy, reading: HookReading, request: Request): Submission => ({
  signal: reading.signal,
  tenant: source.tenant,
  payload: {
    mediaType: request.headers['content-type'] ?? 'application/octet-stream',
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
  },
  verdict:
    reading.kind === 'malformed' ? malformedVerdict(reading.detail) : judgeSignal(source, reading.signal),
});

function sourceOf(context: ServiceContext, request: Request): SourcePolicy {
  const id = String(request.params['source']);
  const active = context.policy.currentOrNull();
  if (active === null) throw noPolicyYet();
  const source = active.policy.sources.find((one) => one.id === id);
  if (source === undefined || moduleOf(source).hook === null) throw noSuchSource();
  if (source.webhookSecrets.length === 0 && source.app == null) throw noSuchSource();
  return source;
}
