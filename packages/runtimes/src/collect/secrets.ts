/** Whether a changed file carries a registered secret that its base does not: it would be pushed with the result. */
import { gitOutput } from '@headgate/git';
import { holdsSecret } from '@headgate/telemetry';
import type { BaseEntry } from './base-tree.js';

export async function bringsSecret(input: {
  readonly path: string;
  readonly content: Buffer;
  readonly before: BaseEntry | null;
  readonly mirror: string;
}): Promise<boolean> {
  if (holdsSecret(input.path)) return input.before === null;
  if (!bytesHoldSecret(input.content)) return false;
  if (input.before === null || input.before.mode === '160000') return true;
  const before = await gitOutput({
    gitDir: input.mirror,
    args: ['cat-file', 'blob', input.before.oid],
    maxOutputBytes: 512 * 1024 * 1024,
  });
  return !bytesHoldSecret(before);
}

/** As text of either kind: a file need not be UTF-8 to hold some. */
const bytesHoldSecret = (content: Buffer): boolean =>
  holdsSecret(content.toString('utf8')) || holdsSecret(content.toString('utf16le'));
