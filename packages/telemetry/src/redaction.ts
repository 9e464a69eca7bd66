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
/** Of the longest spelling. */
let longestChars = 0;

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

const HTML_ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Where `base64` (76 columns) and PEM (64) begin a new line, each line is guarded by itself. */
function wrappedLines(base64: string): string[] {
  return [64, 76].flatMap((columns) =>
    base64.length <= columns
      ? []
      : (base64.match(new RegExp(`.{1,${columns}}`, 'g')) ?? []).filter(
          (line) => line.length >= MIN_SECRET_LINE_CHARS,
        ),
  );
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
    // As writers that keep to ASCII do, Python's json.dumps among them.
    const ascii = jsonEscaped(text).replace(
      /[\u0080-\uffff]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    const html = text.replace(/[&<>"']/g, (char) => HTML_ENTITIES[char] ?? char);
    const htmlSafe = jsonEscaped(text).replace(
      /[<>&]/g,
      (char) => `\\u00${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
    );
    const spellings = [text, url, lowerHex(url), form, lowerHex(form), htmlSafe, text.replaceAll('/', '\\/')];
    spellings.push(bytes.toString('base64'), bytes.toString('base64').replace(/=+$/, ''));
    spellings.push(bytes.toString('base64url'), bytes.toString('hex'), bytes.toString('hex').toUpperCase());
    spellings.push(ascii, html, ...wrappedLines(bytes.toString('base64')));
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
    longestChars = 0;
    return;
  }
  const all = new Set<string>();
  for (const secret of registrations.keys()) for (const text of encodingsOf(secret)) all.add(text);
  const longestFirst = [...all].sort((a, b) => b.length - a.length);
  longestChars = longestFirst[0]?.length ?? 0;
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

/** For tests: nothing is guarded any more. */
export function forgetAllSecrets(): void {
  registrations.clear();
  rebuild();
}

/** Shorter passwords of a URL are words as a rule (`postgres`); they are guarded only where the user stands before. */
const MIN_URL_PASSWORD_CHARS = 12;

/** Registers the credentials of connection URLs; what is no URL is left alone. Returns what forgets them. */
export function registerUrlSecrets(...urls: readonly (string | null | undefined)[]): () => void {
  const forget: (() => void)[] = [];
  for (const text of urls) {
    const url = text !== null && text !== undefined && URL.canParse(text) ? new URL(text) : null;
    if (url === null || url.password === '') continue;
    const password = decodeURIComponent(url.password);
    forget.push(registerSecret(`${decodeURIComponent(url.username)}:${password}`));
    forget.push(registerSecret(`${url.username}:${url.password}`));
    if (password.length >= MIN_URL_PASSWORD_CHARS) forget.push(registerSecret(password));
  }
  return () => {
    for (const one of forget) one();
  };
}

/** Replaces every registered secret in `text`. Feed it whole lines: a secret cut in two is not recognised. */
export function redactText(text: string): string {
  return pattern === null ? text : text.replace(pattern, REDACTED);
}

/** Whether a registered secret stands in `text`, in any of its spellings. */
export function holdsSecret(text: string): boolean {
  if (pattern === null) return false;
  pattern.lastIndex = 0;
  const holds = pattern.test(text);
  pattern.lastIndex = 0;
  return holds;
}

/**
 * Where a long text may be cut from `atLeast` on so that no secret is cut in two. Null when that cannot be said before
 * more of the text is there.
 */
export function cutBetweenSecrets(text: string, atLeast: number): number | null {
  if (text.length < atLeast + longestChars) return null;
  if (pattern === null) return atLeast;
  for (const match of text.matchAll(pattern)) {
    const end = match.index + match[0].length;
    if (match.index < atLeast && end > atLeast) return end;
    if (match.index >= atLeast) break;
  }
  return atLeast;
}

/** The same plain value with every secret in its texts replaced. For what is stored as JSON. */
export const redactJson = <T>(value: T): T => (pattern === null ? value : (redactedCopy(value) as T));

function redactedCopy(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redactedCopy);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [redactText(key), redactedCopy(member)]),
  );
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
