/**
 * One push of one commit to one reference, as compare-and-set: the reference moves only from exactly what the
 * caller expects. The bare form of `--force-with-lease` trusts what was last fetched and destroys others' work.
 */
import { type RemoteOptions, servedBy } from './remote.js';
import { describeGit, runGit } from './run.js';
import { isBranchRef, isSha } from './sha.js';

export interface PushInput extends RemoteOptions {
  readonly gitDir: string;
  readonly url: string;
  readonly commitSha: string;
  /** `refs/heads/…` */
  readonly ref: string;
  /** What the reference must point at; null = it must not exist. */
  readonly expectedOldSha: string | null;
}

export type PushResult =
  /** The remote reported the reference as ours. `moved` is false when it was before. */
  | { readonly kind: 'pushed'; readonly moved: boolean; readonly report: string }
  /** The reference is not at the expected value; nothing was changed. */
  | { readonly kind: 'stale'; readonly report: string }
  /** The remote's own rules said no; nothing was changed. */
  | { readonly kind: 'refused'; readonly report: string }
  /** No answer that can be trusted: it may have happened. */
  | { readonly kind: 'unknown'; readonly detail: string };

export async function pushCommit(input: PushInput): Promise<PushResult> {
  if (!isBranchRef(input.ref)) throw new TypeError(`not a branch reference: ${JSON.stringify(input.ref)}`);
  if (!isSha(input.commitSha) || (input.expectedOldSha !== null && !isSha(input.expectedOldSha))) {
    throw new TypeError('a push names full object names only');
  }
  const result = await runGit({
    gitDir: input.gitDir,
    ...(input.config === undefined ? {} : { config: input.config }),
    ...(input.protocols === undefined ? {} : { protocols: input.protocols }),
    ...(input.signal === undefined ? {} : { signal: input.signal }),
    ...(input.timeoutMs === undefined ? {} : { timeoutMs: input.timeoutMs }),
    args: [
      'push',
      '--porcelain',
      '--no-verify',
      '--no-follow-tags',
      `--force-with-lease=${input.ref}:${input.expectedOldSha ?? ''}`,
      ...servedBy(input.url, 'receive-pack'),
      '--',
      input.url,
      `${input.commitSha}:${input.ref}`,
    ],
  });
  if (result.kind !== 'exited') return { kind: 'unknown', detail: describeGit(result) };
  return readPushReport(result.stdout.toString('utf8'), input.ref, result.code, describeGit(result));
}

/** Porcelain: `<flag>\t<from>:<to>\t<summary> (<reason>)` per reference. Exported for its tests. */
export function readPushReport(stdout: string, ref: string, exitCode: number, detail: string): PushResult {
  for (const line of stdout.split('\n')) {
    const [flag = '', names = '', summary = ''] = line.split('\t');
    if (!names.endsWith(`:${ref}`)) continue;
    const report = summary.trim();
    if (flag === '!') {
      if (report.startsWith('[rejected]')) return { kind: 'stale', report };
      // The remote's rules. All else it may say (disk full, a lock held, a hook that crashed) is left to a read.
      if (/^\[remote rejected\] .*(?:declined|denied|prohibited|protected|not allowed)/.test(report)) {
        return { kind: 'refused', report };
      }
      return { kind: 'unknown', detail: report };
    }
    if (exitCode === 0) return { kind: 'pushed', moved: flag !== '=', report };
  }
  return { kind: 'unknown', detail };
}
