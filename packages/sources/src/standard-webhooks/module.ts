/** Standard Webhooks: `{ "type": "…", "timestamp": "…", "data": {…} }`, signed, and sent again until it is answered. */
import type { Signal } from '@headgate/domain';
import { at, instantAt, textAt } from '../github/fields.js';
import { headerOf } from '../github/headers.js';
import { mediaTypeOf, readJsonBody } from '../json/body.js';
import { envelopeOf, idOfBytes, malformed } from '../kinds/envelope.js';
import { placeOf } from '../kinds/place.js';
import type { RecordedMessage } from '../kinds/recorded.js';
import type { HookReading, HookRequest, SourceModule } from '../kinds/source-module.js';
import { verifyMessage, webhookHeaders } from './signature.js';

const TYPE = /^[A-Za-z0-9_-]{1,100}(?:\.[A-Za-z0-9_-]{1,100}){0,10}$/;

/** `webhook.invoice.paid`; `webhook` where the body names no type. */
const typeOf = (body: unknown): string => {
  const type = textAt(body, 'type');
  return type !== null && TYPE.test(type) ? `webhook.${type}` : 'webhook';
};

function read(request: HookRequest): HookReading {
  const { rawBody, headers, source } = request;
  const eventId = webhookHeaders(headers)?.id ?? idOfBytes(rawBody);
  const envelope = envelopeOf(request, { eventId, type: 'webhook' });
  const { type, isUtf8 } = mediaTypeOf(headerOf(headers, 'Content-Type') ?? 'application/json');
  if (type !== 'application/json' || !isUtf8)
    return malformed(envelope, 'The body is not JSON in UTF-8.', true);
  const body = readJsonBody(rawBody);
  if (body.kind === 'unreadable') return malformed(envelope, body.detail);
  if (body.kind === 'other') return malformed(envelope, 'The body is not a JSON object.');
  return { kind: 'signal', signal: signalOf(envelope, body.value, source) };
}

function signalOf(envelope: Signal, body: unknown, source: HookRequest['source']): Signal {
  const type = typeOf(body);
  const emittedAt = instantAt(body, 'timestamp');
  const data = at(body, 'data') ?? body;
  const place = placeOf({ source, data, aspect: type, eventId: envelope.eventId, emittedAt });
  return { ...envelope, ...place, type, emittedAt, data: body };
}

/** Its identity stood in a header, and is the event id; when it was signed no longer matters. */
const reread = ({ source, body, mediaType, eventId, receivedAt }: RecordedMessage): HookReading =>
  read({
    source,
    rawBody: body,
    headers: { 'content-type': mediaType, 'webhook-id': eventId, 'webhook-timestamp': '0' },
    receivedAt,
    traceparent: null,
  });

export const standardWebhooks: SourceModule = {
  kind: 'standard-webhooks',
  reread,
  hook: {
    verify: ({ source, ...message }, secrets) =>
      verifyMessage({ ...message, toleranceMs: source.toleranceMs }, secrets),
    read,
  },
  judge: ({ type }) =>
    type === 'webhook'
      ? {
          outcome: 'reject',
          reasonCode: 'UNKNOWN_EVENT',
          detail: 'The body names no type.',
          retryAfter: null,
        }
      : null,
};
