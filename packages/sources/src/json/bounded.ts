/**
 * JSON from outside, made safe to keep: bounded depth (recursive readers further in must not run out of stack),
 * no text that Postgres refuses (U+0000, unpaired surrogates), no `__proto__` key that a later merge would obey, no key
 * twice (two readers would see two different payloads), no number beyond a double.
 */
import { hasDuplicateKey } from './duplicate-keys.js';

const MAX_JSON_DEPTH = 100;

export type BoundedJson =
  | { readonly kind: 'json'; readonly value: unknown }
  /** `detail` never quotes the text: it ends in a receipt. */
  | { readonly kind: 'unreadable'; readonly detail: string };

/** The key itself, escapes that may spell it, a NUL or a surrogate, and huge numbers. All else needs no second look. */
const SUSPICIOUS = /\\u(?:00|[dD][89a-fA-F])|__proto__|\d[eE]\+?\d{3}|\d{309}/;
const LONE_SURROGATE = /\p{Surrogate}/u;

export function parseBoundedJson(text: string, maxDepth: number = MAX_JSON_DEPTH): BoundedJson {
  if (isDeeperThan(text, maxDepth)) {
    return { kind: 'unreadable', detail: `The JSON is nested deeper than ${maxDepth} levels.` };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: 'unreadable', detail: 'The body is not valid JSON.' };
  }
  if (hasDuplicateKey(text))
    return { kind: 'unreadable', detail: 'The JSON holds a key twice in one object.' };
  const fault = SUSPICIOUS.test(text) ? cleanse(value) : null;
  return fault === null ? { kind: 'json', value } : { kind: 'unreadable', detail: fault };
}

/** Counts brackets outside strings, before anything is built from the text. */
function isDeeperThan(text: string, maxDepth: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return false;
}

/** Removes `__proto__` keys in place; names the first text that cannot be stored. */
function cleanse(root: unknown): string | null {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const node = open.pop();
    if (typeof node === 'number' && !Number.isFinite(node))
      return 'The JSON holds a number that is too large.';
    if (typeof node === 'string') {
      const fault = faultOf(node);
      if (fault !== null) return fault;
    } else if (Array.isArray(node)) {
      for (const item of node) open.push(item);
    } else if (typeof node === 'object' && node !== null) {
      if (Object.hasOwn(node, '__proto__')) Reflect.deleteProperty(node, '__proto__');
      for (const [key, item] of Object.entries(node)) open.push(key, item);
    }
  }
  return null;
}

function faultOf(text: string): string | null {
  if (text.includes('\u0000')) return 'The JSON holds a NUL character.';
  if (LONE_SURROGATE.test(text)) return 'The JSON holds half of a surrogate pair.';
  return null;
}
