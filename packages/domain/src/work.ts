/** The work key and input version: which work a signal asks for (I4). */
import { createHash } from 'node:crypto';

/** Longest work key in bytes of UTF-8. Longer keys are refused with TASK_CONTRACT_INVALID. */
export const MAX_WORK_KEY_BYTES = 2048;

export interface WorkIdentity {
  /** Opaque: `*`, `a:b`, emoji are all fine. E.g. `42/pr/7/check/unit`. */
  readonly workKey: string;
  /** The input version, e.g. a head SHA. */
  readonly inputVersion: string;
}

/** sha256 of the key's UTF-8 bytes, 32 bytes: identity of the task inside its tenant. */
export function hashWorkKey(workKey: string): Buffer {
  return createHash('sha256').update(workKey, 'utf8').digest();
}

/** First 16 bytes of sha256: how versions, concurrency keys and exclusive keys are stored. */
export function hash16(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest().subarray(0, 16);
}
