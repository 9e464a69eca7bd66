/** Reading the remote for the trace of a push. Reads only. */
import { lsRemote, type RemoteOptions, remoteContains } from '@headgate/git';
import type { PushIntent } from './intent.js';

export type PushTrace =
  /** The reference is at our commit, or at one that was built upon it. */
  | { readonly kind: 'ours'; readonly foundSha: string }
  /** The reference is as it was before: nothing has happened, so far. */
  | { readonly kind: 'untouched' }
  /** The reference is at something else. null = it is gone. */
  | { readonly kind: 'other'; readonly foundSha: string | null }
  | { readonly kind: 'unreadable'; readonly detail: string };

export interface LookupOptions extends RemoteOptions {
  /** A repository with our commit. With it a commit that others built upon ours is recognised as ours. */
  readonly gitDir?: string;
}

export async function lookUpPush(intent: PushIntent, options: LookupOptions = {}): Promise<PushTrace> {
  const { gitDir, ...remote } = options;
  const read = await lsRemote(intent.remoteUrl, [intent.ref], remote);
  if (read.kind === 'unavailable') return { kind: 'unreadable', detail: read.detail };
  const foundSha = read.refs.get(intent.ref) ?? null;
  if (foundSha === intent.commitSha) return { kind: 'ours', foundSha };
  if (foundSha === intent.expectedOldSha) return { kind: 'untouched' };
  if (foundSha !== null && gitDir !== undefined) {
    const { remoteUrl: url, commitSha } = intent;
    if (await remoteContains({ ...remote, gitDir, url, tipSha: foundSha, commitSha })) {
      return { kind: 'ours', foundSha };
    }
  }
  return { kind: 'other', foundSha };
}
