/** From bytes to a finding; what is no text is unreadable. */
import { REPOSITORY_FILE_NAME } from '@headgate/config';
import type { FileFinding } from '@headgate/store';

export const unreadable = (detail: string): FileFinding => ({ kind: 'unreadable', detail });

export function findingOf(bytes: Uint8Array, blobSha: string, commitSha: string): FileFinding {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (text.includes('\u0000')) return unreadable(`${REPOSITORY_FILE_NAME} holds a NUL character.`);
    return { kind: 'found', commitSha, blobSha, text };
  } catch {
    return unreadable(`${REPOSITORY_FILE_NAME} is not UTF-8 text.`);
  }
}
