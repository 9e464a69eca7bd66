/** Reading a remote: what its references point at. */
import { isAbsolute } from 'node:path';
import { describeGit, type GitOptions, runGit } from './run.js';
import { isSha } from './sha.js';

export type RemoteOptions = Pick<GitOptions, 'config' | 'protocols' | 'signal' | 'timeoutMs'>;

export const isLocalRemote = (url: string): boolean => isAbsolute(url) || url.startsWith('file://');

/**
 * A local remote is served by a git of ours in the same machine, but git clears our configuration for it. So
 * `safe.directory` is named again on its command line (never for ssh, whose far side takes no such thing).
 * The remote's own hooks run: they are the forge's business.
 */
export function servedBy(url: string, service: 'upload-pack' | 'receive-pack'): readonly string[] {
  return isLocalRemote(url) ? [`--${service}=git -c safe.directory='*' ${service}`] : [];
}

export type LsRemoteResult =
  | { readonly kind: 'refs'; readonly refs: ReadonlyMap<string, string> }
  | { readonly kind: 'unavailable'; readonly detail: string };

/** Where the named references point now. One that does not exist is not in the map. */
export async function lsRemote(
  url: string,
  refs: readonly string[],
  options: RemoteOptions = {},
): Promise<LsRemoteResult> {
  const result = await runGit({
    ...options,
    args: ['ls-remote', '--refs', '--quiet', ...servedBy(url, 'upload-pack'), '--', url, ...refs],
  });
  if (result.kind !== 'exited' || result.code !== 0)
    return { kind: 'unavailable', detail: describeGit(result) };
  const wanted = new Set(refs);
  const found = new Map<string, string>();
  for (const line of result.stdout.toString('utf8').split('\n')) {
    const [sha = '', ref = ''] = line.split('\t');
    // ls-remote matches the end of a name: `refs/heads/x` also finds `refs/other/refs/heads/x`.
    if (isSha(sha) && wanted.has(ref)) found.set(ref, sha);
  }
  return { kind: 'refs', refs: found };
}

/**
 * Whether `commitSha` is `tipSha` or lies in its history, as far as the remote can show it: fetches the tip
 * into `gitDir` without writing a reference. False also when the remote does not answer.
 */
export async function remoteContains(
  input: RemoteOptions & {
    readonly gitDir: string;
    readonly url: string;
    readonly tipSha: string;
    readonly commitSha: string;
  },
): Promise<boolean> {
  const { gitDir, url, tipSha, commitSha, ...options } = input;
  if (tipSha === commitSha) return true;
  const fetched = await runGit({
    ...options,
    gitDir,
    args: [
      'fetch',
      '--quiet',
      '--no-tags',
      '--no-write-fetch-head',
      ...servedBy(url, 'upload-pack'),
      '--',
      url,
      tipSha,
    ],
  });
  if (fetched.kind !== 'exited' || fetched.code !== 0) return false;
  const ancestor = await runGit({
    ...options,
    gitDir,
    args: ['merge-base', '--is-ancestor', commitSha, tipSha],
  });
  return ancestor.kind === 'exited' && ancestor.code === 0;
}
