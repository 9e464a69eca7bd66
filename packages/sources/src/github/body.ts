import { parseBoundedJson } from '../json/bounded.js';
import { type Headers, headerOf } from './headers.js';

export type WebhookBody =
  | { readonly kind: 'payload'; readonly payload: Readonly<Record<string, unknown>> }
  | { readonly kind: 'unreadable'; readonly detail: string }
  | { readonly kind: 'unsupported-media' };

/** A hook sends JSON, or a form with the JSON in its field `payload`, as it was set up. */
export function readBody(rawBody: Uint8Array, headers: Headers): WebhookBody {
  const media = mediaTypeOf(headerOf(headers, 'Content-Type') ?? '');
  if (media === null) return { kind: 'unsupported-media' };
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(rawBody);
  } catch {
    return { kind: 'unreadable', detail: 'The body is not valid UTF-8.' };
  }
  if (media === 'json') return readPayload(text);
  const field = payloadField(text);
  return field.kind === 'field' ? readPayload(field.text) : field;
}

function mediaTypeOf(contentType: string): 'json' | 'form' | null {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters.map((it) => it.trim()).find((it) => it.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) return null;
  if (type.trim() === 'application/json') return 'json';
  return type.trim() === 'application/x-www-form-urlencoded' ? 'form' : null;
}

function readPayload(text: string): WebhookBody {
  const json = parseBoundedJson(text);
  if (json.kind === 'unreadable') return json;
  return isObject(json.value)
    ? { kind: 'payload', payload: json.value }
    : { kind: 'unreadable', detail: 'The payload is not a JSON object.' };
}

type Field = { readonly kind: 'field'; readonly text: string } | (WebhookBody & { kind: 'unreadable' });

/** Strict, unlike URLSearchParams: broken percent-encoding is a fault, not a replacement character. */
function payloadField(form: string): Field {
  const found = form.split('&').filter((pair) => pair.startsWith('payload='));
  const only = found[0];
  if (only === undefined || found.length > 1) {
    return { kind: 'unreadable', detail: 'The form does not hold exactly one field named payload.' };
  }
  try {
    const text = decodeURIComponent(only.slice('payload='.length).replaceAll('+', ' '));
    return { kind: 'field', text };
  } catch {
    return { kind: 'unreadable', detail: 'The field payload is not correctly percent-encoded UTF-8.' };
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
