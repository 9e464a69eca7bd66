/**
 * The signature of Standard Webhooks: HMAC-SHA256 over `{id}.{timestamp}.{body}`, of which a sender may give several,
 * and a time that must be near ours, so that a captured message is worth nothing later.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Headers, headerOf } from '../github/headers.js';
import type { HookProof } from '../kinds/source-module.js';

const ID = /^[\x21-\x7e]{1,256}$/;
const SECONDS = /^\d{1,12}$/;
const SIGNATURE_BYTES = 32;
/** Of one message; more than any rotation needs. */
const MOST_SIGNATURES = 20;
const MOST_HEADER = 4_096;

export interface WebhookHeaders {
  readonly id: string;
  readonly sentAt: Date;
  readonly timestamp: string;
}

export function webhookHeaders(headers: Headers): WebhookHeaders | null {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  if (id === null || timestamp === null || !ID.test(id) || !SECONDS.test(timestamp)) return null;
  return { id, timestamp, sentAt: new Date(Number(timestamp) * 1000) };
}

export interface SignedMessage {
  readonly rawBody: Uint8Array;
  readonly headers: Headers;
  readonly receivedAt: Date;
  readonly toleranceMs: number;
}

/** Every secret is tried against every signature, always: the time taken tells nothing. */
export function verifyMessage(message: SignedMessage, secrets: readonly string[]): HookProof {
  const sent = webhookHeaders(message.headers);
  const claimed = signaturesIn(headerOf(message.headers, 'webhook-signature'));
  if (sent === null || claimed.length === 0) {
    return refused('webhook-id, webhook-timestamp or webhook-signature is missing or odd.');
  }
  let matches = false;
  for (const secret of secrets) {
    const key = keyOf(secret);
    if (key === null) continue;
    const expected = hmac(key, sent, message.rawBody);
    for (const one of claimed) matches = timingSafeEqual(expected, one) || matches;
  }
  if (!matches) {
    return refused("No v1 signature matches. Compare the sender's secret with webhookSecrets of the source.");
  }
  const offMs = Math.abs(message.receivedAt.getTime() - sent.sentAt.getTime());
  return offMs <= message.toleranceMs
    ? { ok: true }
    : refused(`webhook-timestamp is ${Math.round(offMs / 1000)} s from our clock; tolerance allows less.`);
}

/** `v1,BASE64`; what a sender would put into webhook-signature. Null: this is no secret to sign with. */
export function signMessage(id: string, sentAt: Date, body: Uint8Array, secret: string): string | null {
  const key = keyOf(secret);
  if (key === null) return null;
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  return `v1,${hmac(key, { id, timestamp }, body).toString('base64')}`;
}

const hmac = (key: Buffer, sent: Pick<WebhookHeaders, 'id' | 'timestamp'>, body: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${sent.id}.${sent.timestamp}.`).update(body).digest();

/** `whsec_` and base64, as the standard has it. An empty one never matches. */
function keyOf(secret: string): Buffer | null {
  const key = Buffer.from(secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : secret, 'base64');
  return key.length === 0 ? null : key;
}

function signaturesIn(header: string | null): readonly Buffer[] {
  if (header === null || header.length > MOST_HEADER) return [];
  return header
    .split(' ')
    .slice(0, MOST_SIGNATURES)
    .filter((one) => one.startsWith('v1,'))
    .map((one) => Buffer.from(one.slice('v1,'.length), 'base64'))
    .filter((bytes) => bytes.length === SIGNATURE_BYTES);
}

const refused = (detail: string): HookProof => ({ ok: false, detail });
