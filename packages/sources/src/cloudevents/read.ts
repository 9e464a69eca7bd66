/**
 * CloudEvents 1.0 over HTTP, in binary mode (attributes in `ce-…` headers) and in structured mode (all in one JSON
 * object). Extensions that nobody knows pass. What an event means is `signal.ts`.
 */
import { type Headers, headerOf } from '../github/headers.js';
import { isObject, mediaTypeOf, readJsonBody, utf8 } from '../json/body.js';

export interface CloudEvent {
  readonly specversion: string;
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string | null;
  readonly time: string | null;
  /** The event as one object, as in structured mode, with every extension. */
  readonly whole: Readonly<Record<string, unknown>>;
}

export type CloudEventReading =
  | { readonly kind: 'event'; readonly event: CloudEvent }
  | { readonly kind: 'malformed'; readonly detail: string }
  /** The content type is none of ours; `detail` says what to send. */
  | { readonly kind: 'unsupported-media'; readonly detail: string };

const STRUCTURED = 'application/cloudevents+json';

export function readCloudEvent(rawBody: Uint8Array, headers: Headers): CloudEventReading {
  const contentType = headerOf(headers, 'Content-Type') ?? '';
  const { type, isUtf8 } = mediaTypeOf(contentType);
  if (type.startsWith('application/cloudevents-batch')) {
    return media('Batches are not taken: send each event in a request of its own.');
  }
  if (type.startsWith('application/cloudevents') && type !== STRUCTURED) {
    return media(`${type.slice(0, 80)} is not taken: send ${STRUCTURED}.`);
  }
  if (!isUtf8) return media('Send UTF-8.');
  return type === STRUCTURED ? readStructured(rawBody) : readBinary(rawBody, headers, type);
}

const media = (detail: string): CloudEventReading => ({ kind: 'unsupported-media', detail });
const malformed = (detail: string): CloudEventReading => ({ kind: 'malformed', detail });

function readStructured(rawBody: Uint8Array): CloudEventReading {
  const body = readJsonBody(rawBody);
  if (body.kind === 'unreadable') return malformed(body.detail);
  if (body.kind === 'other') return malformed('A structured event is one JSON object.');
  return checked(body.value);
}

/** Names of attributes are lower-case letters and digits; a header of another name is none. */
const ATTRIBUTE_HEADER = /^ce-([a-z0-9]{1,64})$/;

/** The headers without which an event in binary mode cannot be read again; null: it has none. */
export function attributeHeaders(headers: Headers): Readonly<Record<string, string>> | null {
  const kept = Object.keys(headers).flatMap((name): [string, string][] => {
    const value = ATTRIBUTE_HEADER.test(name.toLowerCase()) ? headerOf(headers, name) : null;
    return value === null || value.length > MOST_HEADER ? [] : [[name.toLowerCase(), value]];
  });
  return kept.length === 0 ? null : Object.fromEntries(kept);
}

function readBinary(rawBody: Uint8Array, headers: Headers, type: string): CloudEventReading {
  const attributes: Record<string, unknown> = {};
  for (const name of Object.keys(headers)) {
    const attribute = ATTRIBUTE_HEADER.exec(name.toLowerCase())?.[1];
    if (attribute === undefined || attribute === 'data' || attribute === 'datacontenttype') continue;
    const value = decoded(headerOf(headers, name) ?? '');
    if (value === null) return malformed(`The header ce-${attribute} is not percent-encoded UTF-8.`);
    attributes[attribute] = value;
  }
  if (Object.keys(attributes).length === 0) {
    return media(
      `Send ${STRUCTURED}, or the attributes in headers ce-id, ce-source, ce-type, ce-specversion.`,
    );
  }
  if (type !== '') attributes['datacontenttype'] = type;
  const data = dataOf(rawBody, type);
  return data.kind === 'malformed'
    ? data
    : checked({ ...attributes, ...(data.value === undefined ? {} : { data: data.value }) });
}

const MOST_HEADER = 8_192;

function decoded(value: string): string | null {
  if (value.length > MOST_HEADER) return null;
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}

type Data =
  | { readonly kind: 'data'; readonly value: unknown }
  | { readonly kind: 'malformed'; readonly detail: string };

/** JSON is read; other text is kept as text; bytes stay with the receipt only. */
function dataOf(rawBody: Uint8Array, type: string): Data {
  if (rawBody.length === 0) return { kind: 'data', value: undefined };
  if (type === '' || type === 'application/json' || type.endsWith('+json')) {
    const body = readJsonBody(rawBody);
    return body.kind === 'unreadable'
      ? { kind: 'malformed', detail: body.detail }
      : { kind: 'data', value: body.value };
  }
  const text = type.startsWith('text/') ? utf8(rawBody) : null;
  const isStorable = text !== null && !text.includes('\u0000');
  return { kind: 'data', value: isStorable ? text : undefined };
}

const MOST_TEXT = 1_024;
const ODD = /[\p{Cc}\p{Surrogate}]/u;
/** RFC 3339, as the standard asks. */
const TIME = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

function checked(whole: Readonly<Record<string, unknown>>): CloudEventReading {
  const attribute = (name: string): string | null => {
    const value = Object.hasOwn(whole, name) ? whole[name] : undefined;
    return typeof value === 'string' && value !== '' && value.length <= MOST_TEXT && !ODD.test(value)
      ? value
      : null;
  };
  const [specversion, id, source, type] = ['specversion', 'id', 'source', 'type'].map(attribute);
  if (specversion == null || id == null || source == null || type == null) {
    return malformed('An event needs the texts specversion, id, source and type.');
  }
  if (!/^1\.\d+$/.test(specversion)) return malformed(`specversion ${specversion} is not 1.0.`);
  const written = { subject: whole['subject'], time: whole['time'] };
  const [subject, time] = [attribute('subject'), attribute('time')];
  if (written.subject !== undefined && written.subject !== null && subject === null) {
    return malformed('subject is not a text.');
  }
  if (written.time !== undefined && written.time !== null && (time === null || !TIME.test(time))) {
    return malformed('time is not an instant of RFC 3339.');
  }
  return { kind: 'event', event: { specversion, id, source, type, subject, time, whole } };
}

/** Of the data: the object that an event tells of. */
export const dataIn = ({ whole }: CloudEvent): unknown => (isObject(whole['data']) ? whole['data'] : null);
