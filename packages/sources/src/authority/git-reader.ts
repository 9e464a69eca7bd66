/**
 * The head straight from git: for sources whose payload is the authority and whose repository git can read.
 *
 * A repository on this machine is asked in place, by its folder: that needs no transport, and trusts exactly this
 * folder whoever owns it (`safe.directory` on the command line is not passed on to the child that a local
 * transport starts). Any other is asked by `ls-remote`. Git knows nothing of pull requests being closed: a pull
 * request's branch that is gone is all it can tell.
 */
import { join } from 'node:path';
import type { Clock, RepositoryPolicy, RepositoryRef, SourcePolicy, TargetRef } from '@headgate/domain';
import { type GitLocation, isBranchName, parseGitLocation, withoutCredentials } from '../git/location.js';
import { type GitResult, runGit } from '../git/run.js';
import { type HeadQuery, type HeadReading, READ_TIMEOUT_MS, type SourceReader } from './reader.js';

export interface GitSourceReaderOptions {
  readonly clock: Clock;
  readonly timeoutMs?: number;
  /** The executable; `git` from PATH by default. */
  readonly gitPath?: string;
}

export class GitSourceReader implements SourceReader {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #gitPath: string;

  constructor(options: GitSourceReaderOptions) {
    this.#clock = options.clock;
    this.#timeoutMs = options.timeoutMs ?? READ_TIMEOUT_MS;
    this.#gitPath = options.gitPath ?? 'git';
  }

  async readHead({ source, repository, target, signal }: HeadQuery): Promise<HeadReading> {
    const policy = repositoryPolicyOf(source, repository);
    if (policy === null) {
      return unavailable(`The source ${source.id} has no url for ${repository.fullName}.`);
    }
    const ref = refOf(target, repository, policy);
    if (ref === null) return { kind: 'gone' };
    const location = parseGitLocation(policy.url);
    if (location.kind === 'refused') return unavailable(location.detail);
    return this.#readingOf(await this.#ask(location, ref, signal ?? null), ref);
  }

  /** A bare repository is tried first, then a checkout: looking which it is could hang on a lost network disk. */
  async #ask(location: AskedLocation, ref: string, signal: AbortSignal | null): Promise<GitResult> {
    const bounds = { timeoutMs: this.#timeoutMs, signal, gitPath: this.#gitPath };
    if (location.kind === 'remote') return runGit({ ...bounds, args: remoteArguments(location.url, ref) });
    const bare = await runGit({ ...bounds, args: localArguments(location.path, ref) });
    const isCheckout = bare.kind === 'exit' && bare.code !== 0 && /not a git repository/.test(bare.stderr);
    if (!isCheckout) return bare;
    return runGit({ ...bounds, args: localArguments(join(location.path, '.git'), ref) });
  }

  #readingOf(result: GitResult, ref: string): HeadReading {
    if (result.kind === 'stopped') return unavailable(result.detail);
    const foundNothing = result.code === 1 && result.stderr.trim() === '';
    if (result.code !== 0 && !foundNothing) return unavailable(withoutCredentials(lastLine(result.stderr)));
    const found = result.stdout
      .split('\n')
      .map((line) => line.split(/[\t ]/))
      .find(([, name]) => name === ref);
    const sha = found?.[0];
    return sha === undefined ? { kind: 'gone' } : { kind: 'head', sha, observedAt: this.#clock.now() };
  }
}

type AskedLocation = Exclude<GitLocation, { kind: 'refused' }>;

/** Names are compared as forges do, without case. */
function repositoryPolicyOf(source: SourcePolicy, repository: RepositoryRef): RepositoryPolicy | null {
  const wanted = repository.fullName.toLowerCase();
  return source.repositories.find((it) => it.fullName.toLowerCase() === wanted) ?? null;
}

/** The full name of what to read; HEAD where no default branch is known; null for a name that cannot exist. */
function refOf(target: TargetRef, repository: RepositoryRef, policy: RepositoryPolicy): string | null {
  // A fork's branch is not here; the forge keeps the pull request's head under this name.
  if (target.kind === 'pull_request' && target.ref === null) return `refs/pull/${target.id}/head`;
  const named = target.kind === 'branch' ? (target.ref ?? target.id) : target.ref;
  const branch = named ?? repository.defaultBranch ?? policy.defaultBranch;
  if (branch === null) return 'HEAD';
  return isBranchName(branch) ? `refs/heads/${branch}` : null;
}

// All of these print the commit, a blank and the ref; all can match more than they were asked for.
const ISOLATED = ['-c', 'credential.helper=', '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null'];

const remoteArguments = (url: string, ref: string): readonly string[] => [
  ...ISOLATED,
  'ls-remote',
  '--quiet',
  '--',
  url,
  ref,
];

function localArguments(gitDir: string, ref: string): readonly string[] {
  const here = [...ISOLATED, '-c', `safe.directory=${gitDir}`, `--git-dir=${gitDir}`];
  return ref === 'HEAD'
    ? [...here, 'show-ref', '--head', '--', 'HEAD']
    : [...here, 'for-each-ref', '--format=%(objectname)%09%(refname)', ref];
}

const lastLine = (stderr: string): string => stderr.trim().split('\n').at(-1) || 'git failed without a word.';

const unavailable = (detail: string): HeadReading => ({ kind: 'unavailable', detail });
