/** A GitHub delivery, turned into the envelope that everything is decided by. */
import type { RepositoryRef, Signal, TargetRef } from '@headgate/domain';
import { envelopeOf as emptyEnvelope, idOfBytes, malformed } from '../kinds/envelope.js';
import type { HookReading, HookRequest } from '../kinds/source-module.js';
import { readBody } from './body.js';
import { actorOf, type Payload, repositoryOf } from './fields.js';
import { type DeliveryHeaders, deliveryHeaders, type Headers } from './headers.js';
import { NOTHING } from './reading.js';
import { ruleOf } from './rules.js';
import { commandIn } from './rules-talk.js';

export interface WebhookRequest {
  /** The source's id in the configuration. */
  readonly sourceId: string;
  /** The bytes as they came, verified by `verifySignature` before. */
  readonly rawBody: Uint8Array;
  readonly headers: Headers;
  readonly receivedAt: Date;
  readonly traceparent: string | null;
}

/** Never throws, whatever the bytes. */
export function readWebhook(request: WebhookRequest): HookReading {
  const body = readBody(request.rawBody, request.headers);
  const headers = deliveryHeaders(request.headers);
  if (body.kind === 'unsupported-media') {
    return malformed(envelopeOf(request, headers), 'The body is neither JSON nor a form in UTF-8.', true);
  }
  const { event, guid } = headers;
  if (event === null || guid === null || headers.faults.length > 0) {
    return malformed(envelopeOf(request, headers), `Missing or odd header: ${headers.faults.join(', ')}.`);
  }
  if (body.kind === 'unreadable') return malformed(envelopeOf(request, headers), body.detail);
  const envelope = envelopeOf(request, headers);
  return { kind: 'signal', signal: normalise(envelope, event, guid, body.payload) };
}

/** All that is known before the body is read. */
const envelopeOf = (request: WebhookRequest, headers: DeliveryHeaders): Signal =>
  emptyEnvelope(
    { ...request, source: { id: request.sourceId } },
    {
      eventId: eventIdOf(request.rawBody, headers),
      type: headers.event === null ? 'github' : `github.${headers.event}`,
      hookId: headers.hookId,
    },
  );

/**
 * The GUID names the event and is the same for every hook on it, so the hook's id stands before it. A delivery
 * without GUID is known by its bytes: sent again, it is the same one.
 */
function eventIdOf(rawBody: Uint8Array, { hookId, guid }: DeliveryHeaders): string {
  const name = guid ?? idOfBytes(rawBody);
  return hookId === null ? name : `${hookId}/${name}`;
}

export interface KnownEvent extends Pick<HookRequest, 'receivedAt' | 'source'> {
  readonly event: string;
  readonly payload: Payload;
  /** Of the fact, where no delivery brought it. */
  readonly eventId: string;
  readonly via: Signal['via'];
}

/** A fact that was found by looking, in the words of the webhook that would have brought it: same key, same version. */
export function signalOfEvent({ event, payload, eventId, via, receivedAt, source }: KnownEvent): Signal {
  const id = eventId.length <= MOST_EVENT_ID ? eventId : idOfBytes(Buffer.from(eventId, 'utf8'));
  const envelope = emptyEnvelope(
    { source, receivedAt, traceparent: null },
    { eventId: id, type: `github.${event}`, via },
  );
  return normalise(envelope, event, id, payload);
}

/** The same delivery, with what was read at the source in the place of what it told. */
export function readAgain(signal: Signal, event: string, payload: Payload): Signal {
  const { source, eventId, trigger, via, hookId, receivedAt, traceparent } = signal;
  const envelope = emptyEnvelope(
    { source: { id: source }, receivedAt, traceparent },
    { eventId, type: `github.${event}`, trigger, via, hookId },
  );
  return normalise(envelope, event, eventId, payload);
}

/** An index holds it. */
const MOST_EVENT_ID = 500;

// An action is a word of GitHub's, but for repository_dispatch one of the sender's.
const ACTION = /^[^\p{Cc}\p{Surrogate}]{1,100}$/u;

function normalise(envelope: Signal, event: string, guid: string, payload: Payload): Signal {
  const named = payload['action'];
  const action = typeof named === 'string' && ACTION.test(named) ? named : null;
  const repository = repositoryOf(payload);
  const reading = event === 'ping' ? NOTHING : ruleOf(event).read({ payload, action, repository, guid });
  return {
    ...envelope,
    type: action === null ? envelope.type : `${envelope.type}.${action}`,
    subject: subjectOf(repository, reading.target),
    actor: actorOf(payload),
    repository,
    target: reading.target,
    inputVersion: reading.inputVersion,
    sourceAt: reading.sourceAt,
    parentVersions: reading.parentVersions,
    emittedAt: reading.emittedAt,
    data: payload,
    command: commandIn(event, action, payload),
  };
}

/** For people: `owner/repo#7`, `owner/repo@branch`, `owner/repo`. */
function subjectOf(repository: RepositoryRef | null, target: TargetRef | null): string | null {
  if (repository === null) return null;
  if (target?.kind === 'pull_request' || target?.kind === 'issue')
    return `${repository.fullName}#${target.id}`;
  return target?.kind === 'branch' ? `${repository.fullName}@${target.id}` : repository.fullName;
}
