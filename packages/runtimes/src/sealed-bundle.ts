/**
 * A sealed result: the commit, and a bundle of it that any worker can push without running the agent again.
 *
 * The commit is a function of its inputs (author, time and message are given), so sealing twice gives the same
 * SHA, and a repeated push is no second effect.
 */
import { createHash } from 'node:crypto';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatId, type RunId } from '@headgate/domain';
import { describeGit, gitOutput, runGit } from '@headgate/git';
import { type Refusal, refused } from './collect/refusal.js';
import { plainText } from './plain-text.js';
import { makeResultRepository } from './result-repository.js';
import { removeTree } from './workspace/remove.js';

/** What the store takes, in chunks. */
export const MAX_BUNDLE_BYTES = 64 * 1024 * 1024;
const RESULT_REF = 'refs/headgate/result';

export interface CommitIdentity {
  readonly name: string;
  readonly email: string;
}

export const HEADGATE_IDENTITY: CommitIdentity = {
  name: 'Headgate',
  email: 'headgate@users.noreply.invalid',
};

export interface SealInput {
  /** Of `collectChanges`. */
  readonly gitDir: string;
  readonly tree: string;
  readonly baseSha: string;
  /** Further parents, when commits of others are merged. */
  readonly otherParents?: readonly string[];
  readonly runId: RunId;
  /** First line of the message: ours, not the agent's. */
  readonly title: string;
  /** The agent's words; made harmless here. */
  readonly summary: string | null;
  readonly author?: CommitIdentity;
  /** Author and commit time. From the run, never from the clock: or each sealing is another commit. */
  readonly committedAt: Date;
  readonly signal?: AbortSignal;
}

export interface SealedBundle {
  readonly kind: 'sealed';
  readonly commitSha: string;
  readonly bundle: Buffer;
  /** Of the bundle, in hex. */
  readonly sha256: string;
}

export async function sealBundle(input: SealInput): Promise<SealedBundle | Refusal> {
  const author = input.author ?? HEADGATE_IDENTITY;
  const date = `${Math.floor(input.committedAt.getTime() / 1000)} +0000`;
  const options = { gitDir: input.gitDir, ...(input.signal === undefined ? {} : { signal: input.signal }) };
  const parents = [input.baseSha, ...(input.otherParents ?? [])].flatMap((parent) => ['-p', parent]);
  const commitSha = (
    await gitOutput({
      ...options,
      args: ['commit-tree', ...parents, input.tree],
      stdin: commitMessage(input),
      env: {
        GIT_AUTHOR_NAME: author.name,
        GIT_AUTHOR_EMAIL: author.email,
        GIT_AUTHOR_DATE: date,
        GIT_COMMITTER_NAME: author.name,
        GIT_COMMITTER_EMAIL: author.email,
        GIT_COMMITTER_DATE: date,
      },
    })
  )
    .toString('utf8')
    .trim();
  await gitOutput({ ...options, args: ['update-ref', RESULT_REF, commitSha] });
  const file = join(input.gitDir, 'result.bundle');
  await gitOutput({
    ...options,
    args: [
      'bundle',
      'create',
      '--quiet',
      file,
      RESULT_REF,
      ...parents.filter((_, index) => index % 2 === 1).map((parent) => `^${parent}`),
    ],
  });
  try {
    const { size } = await stat(file);
    if (size > MAX_BUNDLE_BYTES) {
      return refused(
        'OUTPUT_LIMIT',
        `the sealed result has ${size} bytes, at most ${MAX_BUNDLE_BYTES} may be`,
      );
    }
    const bundle = await readFile(file);
    return { kind: 'sealed', commitSha, bundle, sha256: createHash('sha256').update(bundle).digest('hex') };
  } finally {
    await rm(file, { force: true });
  }
}

/** Title, the agent's words, and as a last paragraph of its own the trailer that names the run (Q9). */
export function commitMessage(input: Pick<SealInput, 'title' | 'summary' | 'runId'>): string {
  const title = plainText(input.title, 72).replaceAll('\n', ' ');
  const summary = input.summary === null ? '' : plainText(input.summary, 4_000);
  const trailer = `Agent-Run-ID: ${formatId('run', input.runId)}`;
  return `${[title, summary, trailer].filter((part) => part !== '').join('\n\n')}\n`;
}

export type RestoreResult =
  | { readonly kind: 'restored'; readonly commitSha: string }
  /** It is not what was sealed: damaged, or another run's. Never pushed. */
  | { readonly kind: 'damaged'; readonly detail: string };

/**
 * Makes `gitDir` a repository that holds the sealed commit, ready to push. `mirror` must hold the base
 * (`ensureCommit`).
 */
export async function restoreBundle(input: {
  readonly bundle: Buffer;
  readonly sha256: string;
  readonly commitSha: string;
  readonly baseSha: string;
  readonly mirror: string;
  readonly gitDir: string;
  readonly signal?: AbortSignal;
}): Promise<RestoreResult> {
  const digest = createHash('sha256').update(input.bundle).digest('hex');
  if (digest !== input.sha256) return { kind: 'damaged', detail: `the bundle's hash is ${digest}` };
  await removeTree(input.gitDir);
  await makeResultRepository(input.gitDir, input.mirror, input.baseSha);
  const options = { gitDir: input.gitDir, ...(input.signal === undefined ? {} : { signal: input.signal }) };
  const file = join(input.gitDir, 'sealed.bundle');
  await writeFile(file, input.bundle, { mode: 0o600 });
  try {
    const fetched = await runGit({
      ...options,
      args: [
        'fetch',
        '--quiet',
        '--no-tags',
        '--no-write-fetch-head',
        '--',
        file,
        `${RESULT_REF}:${RESULT_REF}`,
      ],
    });
    if (fetched.kind !== 'exited' || fetched.code !== 0)
      return { kind: 'damaged', detail: describeGit(fetched) };
  } finally {
    await rm(file, { force: true });
  }
  const commitSha = (
    await gitOutput({ ...options, args: ['rev-parse', '--verify', `${RESULT_REF}^{commit}`] })
  )
    .toString('utf8')
    .trim();
  if (commitSha !== input.commitSha) return { kind: 'damaged', detail: `the bundle holds ${commitSha}` };
  return { kind: 'restored', commitSha };
}
