/**
 * `POST /v1/events`: CloudEvents 1.0, in binary or structured mode, from whoever holds a token of role operator. Which
 * source of kind `cloudevents` an event belongs to, its attribute `source` says.
 */
import type { Submission } from '@headgate/admission';
import type { Actor, Signal, SourcePolicy, Verdict } from '@headgate/domain';
import { answerBody, HttpProblem } from '@headgate/service';
import {
  attributeHeaders,
  type CloudEventReading,
  judgeSignal,
  malformedCloudEvent,
  malformedVerdict,
  readCloudEvent,
  signalOfCloudEvent,
  sourceOfCloudEvent,
} from '@headgate/sources';
import type { ActivePolicy, TokenHolder } from '@headgate/store';
import { currentTraceparent, span } from '@headgate/telemetry';
import type { Request, RequestHandler, Response } from 'express';
import { acknowledged } from '../http/acknowledge.js';
import { boundedBody } from '../http/bounded-body.js';
import type { IntakeRoutes } from '../http/router.js';
import { noPolicyYet, unreadable } from '../webhooks/problems.js';
import { authenticate } from '../work/authenticate.js';

export function events(routes: IntakeRoutes): RequestHandler[] {
  // Asked for its token before its body is read.
  const known: RequestHandler = async (request, response, next) => {
    response.locals['holder'] = await authenticate(routes.context, request);
    next();
  };
  return [
    known,
    ...boundedBody(() => {}),
    (request, response) => span('intake.event', {}, () => receive(routes, request, response)),
  ];
}

async function receive(routes: IntakeRoutes, request: Request, response: Response): Promise<void> {
  const { context, admission } = routes;
  const holder: TokenHolder = response.locals['holder'];
  const active = context.policy.currentOrNull();
  if (active === null) throw noPolicyYet();
  const sources = sourcesOf(active, holder);
  const [first] = sources;
  if (first === undefined) throw noSource();
  const rawBody = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const reading = readCloudEvent(rawBody, request.headers);
  const asked = {
    receivedAt: context.clock.now(),
    traceparent: currentTraceparent(),
    actor: { kind: 'token', id: holder.id, name: holder.name } satisfies Actor,
  };
  const { source, signal, verdict } = decided(reading, sources, first, { ...asked, rawBody });
  const submission: Submission = {
    signal,
    tenant: source.tenant,
    payload: {
      mediaType: request.headers['content-type'] ?? 'application/octet-stream',
      body: rawBody,
      headers: attributeHeaders(request.headers),
    },
    verdict,
  };
  const answer = await acknowledged(context.logger, admission.submit(submission));
  if (reading.kind !== 'event') throw unreadable(reading.kind === 'unsupported-media', answer);
  response.status(202).json(answerBody(answer));
}

interface Asked {
  readonly receivedAt: Date;
  readonly traceparent: string | null;
  readonly actor: Actor;
  readonly rawBody: Buffer;
}

interface Decided {
  readonly source: SourcePolicy;
  readonly signal: Signal;
  readonly verdict: Verdict | null;
}

/** What cannot be placed is kept under the first source: its sender is known, so it gets a receipt. */
function decided(
  reading: CloudEventReading,
  sources: readonly SourcePolicy[],
  first: SourcePolicy,
  { rawBody, ...asked }: Asked,
): Decided {
  if (reading.kind !== 'event') {
    const signal = malformedCloudEvent(rawBody, { ...asked, source: first });
    return { source: first, signal, verdict: malformedVerdict(reading.detail) };
  }
  const found = sourceOfCloudEvent(reading.event, sources);
  const source = found ?? first;
  const signal = signalOfCloudEvent(reading.event, { ...asked, source });
  return {
    source,
    signal,
    verdict: found === null ? elsewhere(reading.event.source) : judgeSignal(source, signal),
  };
}

const elsewhere = (name: string): Verdict => ({
  outcome: 'reject',
  reasonCode: 'OUT_OF_SCOPE',
  detail: `No source of kind cloudevents takes events from "${name.slice(0, 200)}". Add it to from.`,
  retryAfter: null,
  rule: 'source.from',
});

/** Those of the token's tenant. */
const sourcesOf = ({ policy, tenantIds }: ActivePolicy, { tenantId }: TokenHolder): readonly SourcePolicy[] =>
  policy.sources.filter(
    ({ kind, tenant }) => kind === 'cloudevents' && (tenantId === null || tenantIds.get(tenant) === tenantId),
  );

const noSource = (): HttpProblem =>
  new HttpProblem({
    status: 404,
    code: 'NO_SUCH_SOURCE',
    title: 'No source takes CloudEvents.',
    detail: 'Add a source of kind cloudevents to the configuration.',
  });
