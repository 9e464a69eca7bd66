/**
 * `POST /webhooks/{source}`: verify over the raw bytes, normalise, admit. 202 for every outcome; nobody else is asked
 * before the answer (live permission and head belong to the verdict before the lease).
 */
import type { Submission } from '@headgate/admission';
import type { Signal, SourcePolicy, Verdict } from '@headgate/domain';
import { formatId } from '@headgate/domain';
import { HttpProblem, problemOf, type ServiceContext } from '@headgate/service';
import { isKnownGithubEvent, isPing, readWebhook, verifySignature } from '@headgate/sources';
import { currentTraceparent, metrics, span } from '@headgate/telemetry';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { acknowledged } from '../http/acknowledge.js';
import { answerBody } from '../http/answer.js';
import type { IntakeRoutes } from '../http/router.js';

/** GitHub sends nothing above this. */
const MAX_BODY = '25mb';

export function webhooks(routes: IntakeRoutes): RequestHandler[] {
  const { context } = routes;
  // The source is looked up first, so that nobody can make us read 25 MB for a name that does not exist.
  const known: RequestHandler = (request, _response, next) => {
    sourceOf(context, request);
    next();
  };
  // Not inflated: the signature covers the bytes as they came.
  const raw = express.raw({ type: () => true, limit: MAX_BODY, inflate: false });
  return [
    known,
    raw,
    (request, response) => span('intake.webhook', {}, () => receive(routes, request, response)),
  ];
}

async function receive(routes: IntakeRoutes, request: Request, response: Response): Promise<void> {
  const { context, admission, secrets } = routes;
  const source = sourceOf(context, request);
  const rawBody = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const signature = verifySignature(rawBody, request.headers, await secrets.of(source));
  if (!signature.ok) throw refusedSignature();

  const reading = readWebhook({
    sourceId: source.id,
    rawBody,
    headers: request.headers,
    receivedAt: context.clock.now(),
    traceparent: currentTraceparent(),
  });
  if (reading.kind === 'unsupported-media') throw unsupportedMedia();
  const isMalformed = reading.kind === 'malformed';
  const submission: Submission = {
    signal: reading.signal,
    tenant: source.tenant,
    payload: { mediaType: request.headers['content-type'] ?? 'application/octet-stream', body: rawBody },
    verdict: isMalformed ? malformed(reading.detail) : verdictOf(reading.signal),
  };
  const answer = await acknowledged(context.logger, admission.submit(submission));
  if (isMalformed) {
    throw new HttpProblem(problemOf('MALFORMED', 400, answer.message, formatId('rcpt', answer.receiptId)));
  }
  response.status(202).json(answerBody(answer));
}

function sourceOf(context: ServiceContext, request: Request): SourcePolicy {
  const id = String(request.params['source']);
  const active = context.policy.currentOrNull();
  const source = active?.policy.sources.find((one) => one.id === id);
  if (source !== undefined && source.kind === 'github' && source.webhookSecrets.length > 0) return source;
  if (active === null) {
    throw new HttpProblem({
      status: 503,
      code: 'UNAVAILABLE',
      title: 'The configuration has not been read yet.',
      detail: 'Nothing was acknowledged; send it again.',
      retryAfterSeconds: 2,
    });
  }
  throw new HttpProblem({
    status: 404,
    code: 'NO_SUCH_SOURCE',
    title: 'No source of this name takes webhooks.',
    detail: 'The last part of the URL is the id of a source with webhookSecrets in the configuration.',
  });
}

/** What can be said of a type without looking at anything else. */
function verdictOf(signal: Signal): Verdict | null {
  if (isPing(signal.type)) {
    return { outcome: 'no-work', reasonCode: 'PING', detail: null, retryAfter: null };
  }
  if (isKnownGithubEvent(signal.type)) return null;
  return { outcome: 'reject', reasonCode: 'UNKNOWN_EVENT', detail: null, retryAfter: null };
}

const malformed = (detail: string): Verdict => ({
  outcome: 'reject',
  reasonCode: 'MALFORMED',
  detail,
  retryAfter: null,
});

/** Counted, not kept: whoever holds no secret must not be able to fill the database. */
function refusedSignature(): HttpProblem {
  metrics.receipts.add(1, { outcome: 'reject', reason_code: 'SIGNATURE_INVALID' });
  return new HttpProblem(
    problemOf(
      'SIGNATURE_INVALID',
      401,
      "X-Hub-Signature-256 does not match. Compare the hook's secret with webhookSecrets of the source.",
    ),
  );
}

const unsupportedMedia = (): HttpProblem =>
  new HttpProblem({
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    title: 'The body is neither JSON nor a form.',
    detail:
      'Set the content type of the hook to application/json (UTF-8) or application/x-www-form-urlencoded.',
  });
