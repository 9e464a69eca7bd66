/**
 * What a dry run has shown, as a token: the real call acts on these runs and on no other, whatever has come since.
 *
 * It is no right: each of its runs could be named one by one by whoever may act at all, and the caller's tenants are
 * asked again. So it is not signed; it only says what was seen. Pure.
 */
import { createHash } from 'node:crypto';
import type { RunId } from '@headgate/domain';

const VERSION = 1;
const DIGEST_BYTES = 16;
const ID_BYTES = 16;
const HEAD_BYTES = 1 + DIGEST_BYTES;

export type ReadPreview =
  | { readonly kind: 'runs'; readonly runIds: readonly RunId[] }
  /** It was made for another action or filter. */
  | { readonly kind: 'other' }
  | { readonly kind: 'unreadable' };

/** @param question the action and the filter: the token is for them alone. */
export function previewToken(question: unknown, runIds: readonly RunId[]): string {
  const ids = runIds.map((id) => Buffer.from(id.replaceAll('-', ''), 'hex'));
  return Buffer.concat([Buffer.of(VERSION), digestOf(question), ...ids]).toString('base64url');
}

export function readPreviewToken(question: unknown, token: string): ReadPreview {
  const bytes = Buffer.from(token, 'base64url');
  const isWhole = bytes.length >= HEAD_BYTES && (bytes.length - HEAD_BYTES) % ID_BYTES === 0;
  if (!isWhole || bytes[0] !== VERSION) return { kind: 'unreadable' };
  if (!bytes.subarray(1, HEAD_BYTES).equals(digestOf(question))) return { kind: 'other' };
  const runIds: RunId[] = [];
  for (let at = HEAD_BYTES; at < bytes.length; at += ID_BYTES) {
    runIds.push(uuidOf(bytes.subarray(at, at + ID_BYTES)) as RunId);
  }
  return { kind: 'runs', runIds };
}

const digestOf = (question: unknown): Buffer =>
  createHash('sha256').update(canonical(question)).digest().subarray(0, DIGEST_BYTES);

/** The same text for the same question, in whatever order its names were written. */
const canonical = (question: unknown): string =>
  JSON.stringify(question, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );

const uuidOf = (bytes: Buffer): string =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
