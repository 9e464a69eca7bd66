import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Headers, headerOf } from './headers.js';

export type SignatureVerdict =
  /** Which of the secrets it was: shows when a rotation is done. */
  { readonly ok: true; readonly secretIndex: number } | { readonly ok: false };

const SIGNATURE = /^sha256=([0-9a-f]{64})$/i;

/**
 * Does the HMAC in `X-Hub-Signature-256` cover exactly these bytes, under any of the secrets?
 *
 * A hook has one secret at a time, so while it is being rotated both the old and the new one must be accepted.
 * Every secret is tried, always, so that the time taken tells nothing about which one matched. An empty secret
 * never matches: an unset environment variable must not open the door.
 */
export function verifySignature(
  rawBody: Uint8Array,
  headers: Headers,
  secrets: readonly string[],
): SignatureVerdict {
  const digits = SIGNATURE.exec(headerOf(headers, 'X-Hub-Signature-256') ?? '')?.[1];
  if (digits === undefined) return { ok: false };
  const claimed = Buffer.from(digits, 'hex');
  let secretIndex = -1;
  for (const [index, secret] of secrets.entries()) {
    const expected = createHmac('sha256', secret).update(rawBody).digest();
    const matches = timingSafeEqual(expected, claimed) && secret !== '';
    if (matches && secretIndex < 0) secretIndex = index;
  }
  return secretIndex < 0 ? { ok: false } : { ok: true, secretIndex };
}

/** The value of `X-Hub-Signature-256` for these bytes: what GitHub computes. */
export function signBody(rawBody: Uint8Array, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(rawBody).digest('hex')}`;
}
