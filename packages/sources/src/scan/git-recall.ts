/**
 * Where branches stood at an earlier time, by the dates of their commits. A repository on this machine is read in
 * place. Of another only the commits are fetched, without any file, into a temporary folder that is removed again.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isBranchName, parseGitLocation, withoutCredentials } from '../git/location.js';
import { type GitResult, runGit } from '../git/run.js';
import { isCommitId } from '../github/fields.js';
import type { FactMemory, LookRequest } from './look.js';
import { type Recall, stoodAt } from './recall.js';

type Question = Pick<LookRequest, 'repository' | 'signal'> & { readonly since: Date };

const READ_MS = 20_000;
const FETCH_MS = 90_000;
/** Branches that moved since; what stands behind them is not told. */
const MOST_MOVED = 500;
const ISOLATED = ['-c', 'credential.helper=', '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null'];

export async function recallByGit(question: Question): Promise<Recall> {
  const location = parseGitLocation(question.repository.url);
  if (location.kind === 'refused') return failed(location.detail);
  if (location.kind === 'remote') return recallRemote(location.url, question);
  const bare = await recallIn(location.path, question);
  const isCheckout = bare.kind === 'failed' && /not a git repository/.test(bare.detail);
  return isCheckout ? recallIn(join(location.path, '.git'), question) : bare;
}

async function recallRemote(url: string, question: Question): Promise<Recall> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-look-back-'));
  try {
    const args = ['clone', '--quiet', '--bare', '--no-tags', '--filter=tree:0', '--', url, folder];
    const fetched = await git([...ISOLATED, ...args], question, FETCH_MS);
    return faultOf(fetched) ?? (await recallIn(folder, question));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function recallIn(gitDir: string, question: Question): Promise<Recall> {
  const inPlace = [...ISOLATED, '-c', `safe.directory=${gitDir}`, `--git-dir=${gitDir}`];
  const format = '--format=%(objectname)%09%(committerdate:unix)%09%(refname)';
  const listed = await git([...inPlace, 'for-each-ref', format, 'refs/heads/'], question, READ_MS);
  const fault = faultOf(listed);
  if (fault !== null || listed.kind === 'stopped') return fault ?? failed('git was stopped.');
  const memory = new Map<string, FactMemory>();
  const commitDates = new Map<string, Date>();
  let moved = 0;
  for (const { branch, sha, committedAt } of branchesIn(listed.stdout)) {
    const fact = `branch/${branch}`;
    const hasMoved = committedAt.getTime() >= question.since.getTime();
    if (hasMoved) moved += 1;
    if (!hasMoved || moved > MOST_MOVED) {
      memory.set(fact, stoodAt(sha));
      continue;
    }
    commitDates.set(sha, committedAt);
    // Later than that: git counts `before` in whole seconds, the second itself included.
    const before = Math.ceil(question.since.getTime() / 1000) - 1;
    const found = await git([...inPlace, 'rev-list', '-1', `--before=${before}`, sha], question, READ_MS);
    const unread = faultOf(found);
    if (unread !== null || found.kind === 'stopped') return unread ?? failed('git was stopped.');
    const stood = found.stdout.trim();
    if (isCommitId(stood)) memory.set(fact, stoodAt(stood));
  }
  const detail = moved > MOST_MOVED ? `More than ${MOST_MOVED} branches moved.` : null;
  return { kind: 'recalled', memory, commitDates, detail, until: null };
}

interface BranchHead {
  readonly branch: string;
  readonly sha: string;
  readonly committedAt: Date;
}

function branchesIn(stdout: string): readonly BranchHead[] {
  return stdout.split('\n').flatMap((line) => {
    const [sha = '', seconds = '', ref = ''] = line.split('\t');
    const branch = ref.slice('refs/heads/'.length);
    return isCommitId(sha) && isBranchName(branch)
      ? [{ branch, sha, committedAt: new Date(Number(seconds) * 1000) }]
      : [];
  });
}

const git = (args: readonly string[], { signal }: Question, timeoutMs: number): Promise<GitResult> =>
  runGit({ args, timeoutMs, signal, gitPath: 'git' });

function faultOf(result: GitResult): Extract<Recall, { kind: 'failed' }> | null {
  if (result.kind === 'stopped') return failed(result.detail);
  if (result.code === 0) return null;
  return failed(withoutCredentials(result.stderr.trim().split('\n').at(-1) ?? ''));
}

const failed = (detail: string): Extract<Recall, { kind: 'failed' }> => ({
  kind: 'failed',
  outcome: 'unavailable',
  detail,
  until: null,
});
