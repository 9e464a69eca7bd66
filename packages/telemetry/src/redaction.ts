/**
 * Redaction by value (security.md 12): a registered secret and its usual encodings never leave the process in
 * a log line or an artifact. What is registered is known exactly, so nothing depends on guessing field names;
 * the key rule at the end is a second net for credentials that nobody registered.
 */
export const REDACTED = '[redacted]';

/** Shorter values would blank out ordinary words; no credential of ours is that short. */
const MIN_SECRET_CHARS = 6;
/** A line of a multi-line secret (a PEM key) is guarded on its own from this length. */
const MIN_SECRET_LINE_CHARS = 16;
/** Base64 of a secret inside a longer text: fewer characters than this match by chance. */
const MIN_BASE64_CORE_CHARS = 8;

/** Registrations by value: a token that two calls hold stays guarded until both let go. */
const registrations = new Map<string, number>();
let pattern: RegExp | null = null;

const escapeForPattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const jsonEscaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/**
 * Base64 that appears when the secret starts 0, 1 or 2 bytes into the encoded text (`user:secret` in a Basic
 * header): characters that also carry bits of a neighbour are left out, the rest is always the same.
 */
function base64Cores(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  return [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const first = Math.ceil((offset * 8) / 6);
    const end = Math.floor(((offset + bytes.length) * 8) / 6);
    return text.slice(first, end);
  });
}

/** Every spelling under which a secret may turn up. Exported for the tests of sinks. */
export function encodingsOf(secret: string): readonly string[] {
  const plain = [secret];
  for (const line of secret.split(/\r?\n/)) {
    if (line.length >= MIN_SECRET_LINE_CHARS) plain.push(line);
  }
  const found = new Set<string>();
  for (const text of plain) {
    const bytes = Buffer.from(text, 'utf8');
    const url = encodeURIComponent(text);
    const form = new URLSearchParams([['', text]]).toString().slice(1);
    const lowerHex = (encoded: string): string =>
      encoded.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase());
    const htmlSafe = jsonEscaped(text).replace(
      /[<>&]/g,
      (char) => `\\u00${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
    );
    const spellings = [text, url, lowerHex(url), form, lowerHex(form), htmlSafe, text.replaceAll('/', '\\/')];
    spellings.push(bytes.toString('base64'), bytes.toString('base64').replace(/=+$/, ''));
    spellings.push(bytes.toString('base64url'), bytes.toString('hex'));
    for (const core of base64Cores(text)) {
      if (core.length < MIN_BASE64_CORE_CHARS) continue;
      spellings.push(core, core.replaceAll('+', '-').replaceAll('/', '_'));
    }
    for (const spelling of spellings) {
      found.add(spelling);
      // As a string inside JSON, and as JSON inside a string inside JSON (a logged request body).
      found.add(jsonEscaped(spelling));
      found.add(jsonEscaped(jsonEscaped(spelling)));
    }
  }
  return [...found].sort((a, b) => b.length - a.length);
}

function rebuild(): void {
  if (registrations.size === 0) {
    pattern = null;
    return;
  }
  const all = new Set<string>();
  for (const secret of registrations.keys()) for (const text of encodingsOf(secret)) all.add(text);
  const longestFirst = [...all].sort((a, b) => b.length - a.length);
  pattern = new RegExp(longestFirst.map(escapeForPattern).join('|'), 'g');
}

/**
 * From now on `value` and its encodings are replaced in every log line and by `redactText`.
 *
 * Returns the function that forgets it again, for tokens that live an hour. Values shorter than six
 * characters are not guarded.
 */
export function registerSecret(value: string): () => void {
  if (value.length < MIN_SECRET_CHARS) return () => {};
  registrations.set(value, (registrations.get(value) ?? 0) + 1);
  if (registrations.get(value) === 1) rebuild();
  let held = true;
  return () => {
    if (!held) return;
    held = false;
    const left = (registrations.get(value) ?? 1) - 1;
    if (left > 0) {
      registrations.set(value, left);
      return;
    }
    registrations.delete(value);
    rebuild();
  };
}

/** Replaces every registered secret in `text`. Feed it whole lines: a secret cut in two is not recognised. */
export function redactText(text: string): string {
  return pattern === null ? text : text.replace(pattern, REDACTED);
}

const SECRET_KEYS = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-hub-signature',
  'x-hub-signature-256',
  'webhook-signature',
  'x-api-key',
  'api[_-]?key',
  'access[_-]?token',
  'refresh[_-]?token',
  'admin[_-]?token',
  'token',
  'secret',
  'password',
  'private[_-]?key',
];
/** A member of serialised JSON whose key names a credential, at any depth; its value a string or a flat list. */
const SECRET_MEMBER = new RegExp(
  `("(?:${SECRET_KEYS.join('|')})"\\s*:\\s*)(?:"(?:[^"\\\\]|\\\\.)*"|\\[[^\\]]*\\])`,
  'gi',
);

/** `redactText`, and the values of members named like a credential. For one line of JSON. */
export function redactJsonLine(line: string): string {
  return redactText(line).replace(SECRET_MEMBER, `$1"${REDACTED}"`);
}
