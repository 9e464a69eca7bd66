/** A GitHub delivery, turned into the envelope that everything is decided by. */
import { createHash } from 'node:crypto';
import type { RepositoryRef, Signal, TargetRef } from '@headgate/domain';
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

export type WebhookReading =
  | { readonly kind: 'signal'; readonly signal: Signal }
  /** Signed, but unreadable: worth a receipt. `signal` is the envelope for it, without target and with null data. */
  | {
      readonly kind: 'malformed';
      readonly eventId: string;
      readonly type: string;
      readonly detail: string;
      readonly signal: Signal;
    }
  /** Neither JSON nor a form: 415, no receipt. */
  | { readonly kind: 'unsupported-media' };

/** Never throws: whatever the bytes, the answer is one of the three. */
export function readWebhook(request: WebhookRequest): WebhookReading {
  const body = readBody(request.rawBody, request.headers);
  if (body.kind === 'unsupported-media') return body;
  const headers = deliveryHeaders(request.headers);
  const { event, guid } = headers;
  if (event === null || guid === null || headers.faults.length > 0) {
    return malformed(request, headers, `Missing or odd header: ${headers.faults.join(', ')}.`);
  }
  if (body.kind === 'unreadable') return malformed(request, headers, body.detail);
  const envelope = envelopeOf(request, headers);
  return { kind: 'signal', signal: normalise(envelope, event, guid, body.payload) };
}

function malformed(request: WebhookRequest, headers: DeliveryHeaders, detail: string): WebhookReading {
  const signal = envelopeOf(request, headers);
  return { kind: 'malformed', eventId: signal.eventId, type: signal.type, detail, signal };
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** All that is known before the body is read. */
function envelopeOf(request: WebhookRequest, headers: DeliveryHeaders): Signal {
  const { traceparent } = request;
  return {
    source: request.sourceId,
    eventId: eventIdOf(request.rawBody, headers),
    type: headers.event === null ? 'github' : `github.${headers.event}`,
    trigger: 'event',
    via: 'webhook',
    hookId: headers.hookId,
    subject: null,
    emittedAt: null,
    receivedAt: request.receivedAt,
    actor: null,
    repository: null,
    target: null,
    inputVersion: null,
    sourceAt: null,
    parentVersions: [],
    data: null,
    traceparent: traceparent !== null && TRACEPARENT.test(traceparent) ? traceparent : null,
  };
}

/**
 * The GUID names the event and is the same for every hook on it, so the hook's id stands before it. A delivery
 * without GUID is known by its bytes: sent again, it is the same one.
 */
function eventIdOf(rawBody: Uint8Array, { hookId, guid }: DeliveryHeaders): string {
  const name = guid ?? `sha256:${createHash('sha256').update(rawBody).digest('hex')}`;
  return hookId === null ? name : `${hookId}/${name}`;
}

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
