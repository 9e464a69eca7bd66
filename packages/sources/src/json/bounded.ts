/**
 * JSON from outside, made safe to keep: bounded depth (recursive readers further in must not run out of stack),
 * no text that Postgres refuses (U+0000, unpaired surrogates), no `__proto__` key that a later merge would obey, no key
 * twice (two readers would see two different payloads), no number beyond a double.
 *
 * Every webhook passes here, so the text is scanned once and the value walked once.
 */
import { structureOf } from './structure.js';

export const MAX_JSON_DEPTH = 100;

/** A `__proto__` key: left out of what others send, or a reason to refuse what a caller of ours wrote. */
export type PrototypeKeys = 'drop' | 'refuse';

export type BoundedJson =
  | { readonly kind: 'json'; readonly value: unknown }
  /** `detail` never quotes the text: it ends in a receipt. */
  | { readonly kind: 'unreadable'; readonly detail: string };

/** How a NUL or a surrogate can be spelled: neither can stand in the text as it is. */
const SUSPICIOUS_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;
const LONE_SURROGATE = /\p{Surrogate}/u;

export function parseBoundedJson(
  text: string,
  maxDepth: number = MAX_JSON_DEPTH,
  prototypeKeys: PrototypeKeys = 'drop',
): BoundedJson {
  const structure = structureOf(text, maxDepth);
  if (structure.isTooDeep) return unreadable(`The JSON is nested deeper than ${maxDepth} levels.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return unreadable('The body is not valid JSON.');
  }
  const found: Findings = { members: 0, hasHugeNumber: false, hasPrototypeKey: false };
  cleanse(value, found);
  if (found.members !== structure.members) return unreadable('The JSON holds a key twice in one object.');
  if (found.hasHugeNumber) return unreadable('The JSON holds a number that is too large.');
  if (found.hasPrototypeKey && prototypeKeys === 'refuse') {
    return unreadable('The JSON holds the key __proto__.');
  }
  const fault = text.includes('\\u') && SUSPICIOUS_ESCAPE.test(text) ? textFault(value) : null;
  return fault === null ? { kind: 'json', value } : unreadable(fault);
}

const unreadable = (detail: string): BoundedJson => ({ kind: 'unreadable', detail });

interface Findings {
  members: number;
  hasHugeNumber: boolean;
  hasPrototypeKey: boolean;
}

/** Counts members and removes `__proto__` keys in place. Recursive: the depth is bounded. */
function cleanse(node: unknown, found: Findings): void {
  if (typeof node === 'number') {
    if (!Number.isFinite(node)) found.hasHugeNumber = true;
    return;
  }
  if (typeof node !== 'object' || node === null) return;
  if (Array.isArray(node)) {
    for (const item of node) if (typeof item !== 'string') cleanse(item, found);
    return;
  }
  const members = node as Record<string, unknown>;
  // What JSON.parse made inherits no enumerable key: `for in` gives its own, without a list of them.
  for (const key in members) {
    found.members += 1;
    if (typeof members[key] !== 'string') cleanse(members[key], found);
    if (key === '__proto__') {
      found.hasPrototypeKey = true;
      Reflect.deleteProperty(members, key);
    }
  }
}

/** Names the first text, key or value, that cannot be stored. */
function textFault(root: unknown): string | null {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const node = open.pop();
    if (typeof node === 'string') {
      const fault = faultOf(node);
      if (fault !== null) return fault;
    } else if (Array.isArray(node)) {
      for (const item of node) open.push(item);
    } else if (typeof node === 'object' && node !== null) {
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
