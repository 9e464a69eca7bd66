import { isObject, mediaTypeOf, utf8 } from '../json/body.js';
import { parseBoundedJson } from '../json/bounded.js';
import { type Headers, headerOf } from './headers.js';

export type WebhookBody =
  | { readonly kind: 'payload'; readonly payload: Readonly<Record<string, unknown>> }
  | { readonly kind: 'unreadable'; readonly detail: string }
  | { readonly kind: 'unsupported-media' };

/** A hook sends JSON, or a form with the JSON in its field `payload`, as it was set up. */
export function readBody(rawBody: Uint8Array, headers: Headers): WebhookBody {
  const { type, isUtf8 } = mediaTypeOf(headerOf(headers, 'Content-Type') ?? '');
  const isJson = type === 'application/json';
  if (!isUtf8 || (!isJson && type !== 'application/x-www-form-urlencoded'))
    return { kind: 'unsupported-media' };
  const text = utf8(rawBody);
  if (text === null) return { kind: 'unreadable', detail: 'The body is not valid UTF-8.' };
  if (isJson) return readPayload(text);
  const field = payloadField(text);
  return field.kind === 'field' ? readPayload(field.text) : field;
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
