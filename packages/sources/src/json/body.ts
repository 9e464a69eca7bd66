/** A body of JSON, by its content type. */
import { MAX_JSON_DEPTH, type PrototypeKeys, parseBoundedJson } from './bounded.js';

export type JsonBody =
  | { readonly kind: 'object'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'other'; readonly value: unknown }
  | { readonly kind: 'unreadable'; readonly detail: string };

export interface MediaType {
  /** In lower case, without parameters. */
  readonly type: string;
  readonly isUtf8: boolean;
}

/** `application/json; charset=utf-8`. No charset means UTF-8, as JSON has it. */
export function mediaTypeOf(contentType: string): MediaType {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters.map((it) => it.trim()).find((it) => it.startsWith('charset='));
  return { type: type.trim(), isUtf8: charset === undefined || /^charset="?utf-?8"?$/.test(charset) };
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

export function utf8(rawBody: Uint8Array): string | null {
  try {
    return UTF8.decode(rawBody);
  } catch {
    return null;
  }
}

export function readJsonBody(rawBody: Uint8Array, prototypeKeys: PrototypeKeys = 'drop'): JsonBody {
  const text = utf8(rawBody);
  if (text === null) return { kind: 'unreadable', detail: 'The body is not valid UTF-8.' };
  const json = parseBoundedJson(text, MAX_JSON_DEPTH, prototypeKeys);
  if (json.kind === 'unreadable') return json;
  return isObject(json.value) ? { kind: 'object', value: json.value } : { kind: 'other', value: json.value };
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
