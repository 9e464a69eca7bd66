/** Events that any sender could send: CloudEvents and messages of Standard Webhooks about a branch and its head. */
import { signMessage } from '../standard-webhooks/signature.js';
import type { SampleDelivery } from './delivery.js';
import type { CloudEventMode } from './family.js';
import type { SampleSubject } from './rewrite.js';

type Fields = Readonly<Record<string, unknown>>;

interface PlainEventOptions {
  readonly type: string;
  readonly subject: SampleSubject;
  /** The id that the receiver knows the delivery by. */
  readonly deliveryId: string;
  /** Fields of the data, over those of the sample. */
  readonly data: Fields;
}

/** What happened, in the words that Headgate reads work from (kinds/place.ts). */
const dataAbout = ({ repository, branch, headSha }: SampleSubject, data: Fields): Fields => ({
  repository: repository.fullName,
  branch,
  commit: headSha,
  severity: 'high',
  ...data,
});

export interface CloudEventOptions extends PlainEventOptions {
  readonly mode: CloudEventMode;
  /** The event's attribute `source`: by it a source of Headgate is found. */
  readonly eventSource: string;
  /** An API token of role operator. */
  readonly token: string;
}

export function cloudEventDelivery(options: CloudEventOptions): SampleDelivery {
  const { type, subject, deliveryId, eventSource, token, mode } = options;
  const attributes = {
    specversion: '1.0',
    id: deliveryId,
    source: eventSource,
    type,
    time: subject.at.toISOString(),
  };
  const data = dataAbout(subject, options.data);
  const isBinary = mode === 'binary';
  const named = Object.entries(attributes).map(([name, value]) => [`ce-${name}`, encodeURI(value)]);
  return {
    method: 'POST',
    path: '/v1/events',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': isBinary ? 'application/json' : 'application/cloudevents+json',
      ...(isBinary ? Object.fromEntries(named) : {}),
    },
    body: Buffer.from(JSON.stringify(isBinary ? data : { ...attributes, data }), 'utf8'),
  };
}

export interface MessageOptions extends PlainEventOptions {
  readonly sourceId: string;
  readonly secret: string;
}

/** Null: the secret is none that Standard Webhooks sign with. */
export function messageDelivery(options: MessageOptions): SampleDelivery | null {
  const { type, subject, deliveryId, sourceId, secret } = options;
  const timestamp = subject.at.toISOString();
  const body = Buffer.from(
    JSON.stringify({ type, timestamp, data: dataAbout(subject, options.data) }),
    'utf8',
  );
  const signature = signMessage(deliveryId, subject.at, body, secret);
  if (signature === null) return null;
  return {
    method: 'POST',
    path: `/webhooks/${encodeURIComponent(sourceId)}`,
    headers: {
      'content-type': 'application/json',
      'webhook-id': deliveryId,
      'webhook-timestamp': String(Math.floor(subject.at.getTime() / 1000)),
      'webhook-signature': signature,
    },
    body,
  };
}
