/** The work key and input version: which work a signal asks for (I4). */
import { createHash } from 'node:crypto';

/** Longest work key in bytes of UTF-8. Longer keys are refused with TASK_CONTRACT_INVALID. */
export const MAX_WORK_KEY_BYTES = 2048;
/** Longest input version in bytes of UTF-8. */
export const MAX_INPUT_VERSION_BYTES = 2048;

export interface WorkIdentity {
  /** Opaque: `*`, `a:b`, emoji are all fine. E.g. `42/pr/7/check/unit`. */
  readonly workKey: string;
  /** The input version, e.g. a head SHA. */
  readonly inputVersion: string;
}

export type WorkCheck = { readonly ok: true } | { readonly ok: false; readonly problem: string };

/**
 * Whether an identity can be stored and compared: not empty, short enough, no NUL (Postgres text cannot hold
 * one) and no lone surrogate (two of them would have the same UTF-8 bytes, hence the same hash).
 */
export function checkWork(work: WorkIdentity): WorkCheck {
  const problem =
    checkText('work key', work.workKey, MAX_WORK_KEY_BYTES) ??
    checkText('input version', work.inputVersion, MAX_INPUT_VERSION_BYTES);
  return problem === null ? { ok: true } : { ok: false, problem };
}

/** sha256 of the key's UTF-8 bytes, 32 bytes: identity of the task inside its tenant. */
export function hashWorkKey(workKey: string): Buffer {
  return createHash('sha256').update(workKey, 'utf8').digest();
}

/** First 16 bytes of sha256: how versions, concurrency keys and exclusive keys are stored. */
export function hash16(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest().subarray(0, 16);
}

function checkText(name: string, text: string, maxBytes: number): string | null {
  if (text === '') return `The ${name} is empty.`;
  const bytes = Buffer.byteLength(text, 'utf8');
  if (bytes > maxBytes) return `The ${name} has ${bytes} bytes, at most ${maxBytes} are allowed.`;
  if (text.includes('\u0000')) return `The ${name} holds a NUL character.`;
  if (/\p{Surrogate}/u.test(text)) return `The ${name} is not well-formed Unicode.`;
  return null;
}
