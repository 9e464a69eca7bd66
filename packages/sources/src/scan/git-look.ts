/** Branches as git shows them: in a folder in place, elsewhere by ls-remote. A moved branch is a push. */
import { join } from 'node:path';
import type { Signal } from '@headgate/domain';
import { type GitLocation, isBranchName, parseGitLocation, withoutCredentials } from '../git/location.js';
import { pushOf } from '../git/push.js';
import { type GitResult, runGit } from '../git/run.js';
import { isCommitId } from '../github/fields.js';
import type { Change, Look, LookRequest } from './look.js';

const TIMEOUT_MS = 20_000;
const ISOLATED = ['-c', 'credential.helper=', '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null'];

export async function lookByGit(request: LookRequest): Promise<Look> {
  const location = parseGitLocation(request.repository.url);
  if (location.kind === 'refused') return failed(location.detail);
  const result = await ask(location, request.signal);
  if (result.kind === 'stopped') return failed(result.detail);
  if (result.code !== 0) return failed(withoutCredentials(result.stderr.trim().split('\n').at(-1) ?? ''));
  const heads = headsIn(result.stdout);
  const changes: Change[] = [];
  const standing: string[] = [];
  for (const [branch, sha] of heads) {
    const fact = `branch/${branch}`;
    const known = request.memory.get(fact);
    if (known?.version === sha) standing.push(fact);
    else
      changes.push({
        fact,
        version: sha,
        signals: request.since === null ? [] : [pushed(request, branch, sha)],
      });
  }
  return { kind: 'looked', changes, standing, validators: {}, isWhole: true, until: null, detail: null };
}

async function ask(
  location: Exclude<GitLocation, { kind: 'refused' }>,
  signal: AbortSignal,
): Promise<GitResult> {
  const bounds = { timeoutMs: TIMEOUT_MS, signal, gitPath: 'git' };
  if (location.kind === 'remote') {
    return runGit({ ...bounds, args: [...ISOLATED, 'ls-remote', '--quiet', '--heads', '--', location.url] });
  }
  const bare = await runGit({ ...bounds, args: localArguments(location.path) });
  const isCheckout = bare.kind === 'exit' && bare.code !== 0 && /not a git repository/.test(bare.stderr);
  return isCheckout ? runGit({ ...bounds, args: localArguments(join(location.path, '.git')) }) : bare;
}

const localArguments = (gitDir: string): readonly string[] => [
  ...[...ISOLATED, '-c', `safe.directory=${gitDir}`, `--git-dir=${gitDir}`],
  ...['for-each-ref', '--format=%(objectname)%09%(refname)', 'refs/heads/'],
];

function headsIn(stdout: string): ReadonlyMap<string, string> {
  const heads = new Map<string, string>();
  for (const line of stdout.split('\n')) {
    const [sha = '', ref = ''] = line.split('\t');
    const branch = ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : '';
    if (isCommitId(sha) && isBranchName(branch)) heads.set(branch, sha);
  }
  return heads;
}

function pushed({ source, repository, memory, now }: LookRequest, branch: string, sha: string): Signal {
  const before = memory.get(`branch/${branch}`)?.version ?? null;
  return pushOf({ source, repository, branch, sha, before, seenAt: now });
}

const failed = (detail: string): Look => ({ kind: 'failed', outcome: 'unavailable', detail, until: null });
