/**
 * Mirrors: one bare repository per remote on each machine, shared by all runs of all workers there.
 *
 * Who writes: `ensureCommit` only, under the mirror's lock, and it only ever adds objects and references below
 * `refs/headgate/`; nothing is deleted, repacked or collected, so readers need no lock.
 * Lock: `flock` on a file beside the mirror. The kernel gives it back when the last holder dies, so a killed
 * worker leaves no stale lock, and a git that outlives its worker still keeps others out. In front of it stands
 * a queue inside the process, so that waiting runs do not each hold a process. Without `flock` (not Linux)
 * only that queue remains, and git's own per-reference locks: a lost race is then a transient failure.
 * Crash points: during `init` the next one repeats it (idempotent); during `fetch` an incomplete pack lies
 * there unused; between fetch and use the commit is simply there already.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { type RemoteOptions, servedBy } from './remote.js';
import { describeGit, type GitOptions, type GitResult, runGit, withoutCredentials } from './run.js';
import { isBranchRef, isSha, objectFormatOf } from './sha.js';

export interface EnsureCommitInput extends RemoteOptions {
  readonly mirrorsDir: string;
  readonly url: string;
  readonly sha: string;
  /** `refs/heads/…` where the commit was seen, if known: the cheapest place to look after the SHA itself. */
  readonly ref: string | null;
}

export type EnsureCommitResult =
  | { readonly kind: 'ready'; readonly mirror: string }
  /** The remote answers, and does not have the commit. */
  | { readonly kind: 'gone'; readonly detail: string }
  | { readonly kind: 'transient'; readonly detail: string }
  | { readonly kind: 'aborted' };

/** The mirror's folder: a digest of the address without credentials, so that a new token finds the old mirror. */
export function mirrorPath(mirrorsDir: string, url: string): string {
  const digest = createHash('sha256').update(withoutCredentials(url), 'utf8').digest('hex').slice(0, 32);
  return join(mirrorsDir, `${digest}.git`);
}

/** Whether `sha` is a commit that the repository has. */
export async function hasCommit(gitDir: string, sha: string, signal?: AbortSignal): Promise<boolean> {
  const result = await runGit({
    gitDir,
    args: ['cat-file', '-e', `${sha}^{commit}`],
    ...(signal === undefined ? {} : { signal }),
  });
  return result.kind === 'exited' && result.code === 0;
}

/** Makes sure that the mirror of `url` holds commit `sha` with its history. Any number may ask at once. */
export async function ensureCommit(input: EnsureCommitInput): Promise<EnsureCommitResult> {
  if (!isSha(input.sha)) throw new TypeError(`not an object name: ${JSON.stringify(input.sha)}`);
  if (input.ref !== null && !isBranchRef(input.ref))
    throw new TypeError(`not a branch reference: ${input.ref}`);
  const mirror = mirrorPath(input.mirrorsDir, input.url);
  return unlessAborted(
    input.signal,
    inOrder(mirror, async (): Promise<EnsureCommitResult> => {
      if (await hasKept(mirror, input)) return { kind: 'ready', mirror };
      await mkdir(input.mirrorsDir, { recursive: true });
      const made = await makeMirror(mirror, input);
      if (made.kind !== 'ready') return made;
      return fetchCommit(mirror, input);
    }),
  );
}

/** A cancelled run does not wait for its turn in the queue; its turn, when it comes, does nothing. */
async function unlessAborted(
  signal: AbortSignal | undefined,
  work: Promise<EnsureCommitResult>,
): Promise<EnsureCommitResult> {
  if (signal === undefined) return work;
  let onAbort = (): void => {};
  const aborted = new Promise<EnsureCommitResult>((resolve) => {
    onAbort = () => resolve({ kind: 'aborted' });
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

const keepRef = (sha: string): string => `refs/headgate/keep/${sha}`;

/** Our own reference, not the object, is the proof: an interrupted fetch can leave a commit without its trees. */
async function hasKept(mirror: string, input: EnsureCommitInput): Promise<boolean> {
  if (!existsSync(mirror)) return false;
  const result = await git(mirror, input, [
    'rev-parse',
    '--verify',
    '--quiet',
    `${keepRef(input.sha)}^{commit}`,
  ]);
  return result.kind === 'exited' && result.code === 0;
}

async function makeMirror(mirror: string, input: EnsureCommitInput): Promise<EnsureCommitResult> {
  const result = await runGit({
    ...bounds(input),
    cwd: input.mirrorsDir,
    wrapper: lockWrapper(mirror),
    args: [
      'init',
      '--quiet',
      '--bare',
      '--template=',
      `--object-format=${objectFormatOf(input.sha)}`,
      '--initial-branch=main',
      '--',
      mirror,
    ],
  });
  if (result.kind !== 'exited' || result.code !== 0) return failure(result);
  // Beats any .gitattributes of a tree: bytes come out of the repository as they are in it, no filter is named.
  await mkdir(join(mirror, 'info'), { recursive: true });
  await writeFile(
    join(mirror, 'info', 'attributes'),
    '* -text -eol -ident -filter -working-tree-encoding -export-subst -export-ignore\n',
  );
  return { kind: 'ready', mirror };
}

async function fetchCommit(mirror: string, input: EnsureCommitInput): Promise<EnsureCommitResult> {
  // 1. Exactly the commit: GitHub and every git since protocol 2 serve it by name.
  const bySha = await fetch(mirror, input, [`+${input.sha}:${keepRef(input.sha)}`]);
  if (succeeded(bySha)) return { kind: 'ready', mirror };
  if (bySha.kind === 'aborted') return { kind: 'aborted' };
  // 2. By reference, for servers that refuse names; then the commit must be in what came.
  const refspecs = ['+refs/heads/*:refs/headgate/heads/*'];
  const byRef = await fetch(mirror, input, refspecs);
  if (!succeeded(byRef)) return failure(byRef);
  if (!(await isReachable(mirror, input))) {
    return { kind: 'gone', detail: `the remote has no commit ${input.sha}` };
  }
  const kept = await git(mirror, input, ['update-ref', keepRef(input.sha), input.sha], lockWrapper(mirror));
  return succeeded(kept) ? { kind: 'ready', mirror } : failure(kept);
}

async function isReachable(mirror: string, input: EnsureCommitInput): Promise<boolean> {
  if (!(await hasCommit(mirror, input.sha, input.signal))) return false;
  const result = await git(mirror, input, [
    'for-each-ref',
    '--count=1',
    `--contains=${input.sha}`,
    'refs/headgate/heads/',
  ]);
  return result.kind === 'exited' && result.code === 0 && result.stdout.length > 0;
}

const fetch = (mirror: string, input: EnsureCommitInput, refspecs: readonly string[]): Promise<GitResult> =>
  git(
    mirror,
    input,
    [
      'fetch',
      '--quiet',
      '--no-tags',
      '--no-write-fetch-head',
      '--no-auto-maintenance',
      '--force',
      ...servedBy(input.url, 'upload-pack'),
      '--',
      input.url,
      ...refspecs,
    ],
    lockWrapper(mirror),
  );

const git = (
  mirror: string,
  input: EnsureCommitInput,
  args: readonly string[],
  wrapper: readonly string[] = [],
): Promise<GitResult> => runGit({ ...bounds(input), gitDir: mirror, args, wrapper });

function bounds(input: RemoteOptions): Partial<GitOptions> {
  return {
    ...(input.config === undefined ? {} : { config: input.config }),
    ...(input.protocols === undefined ? {} : { protocols: input.protocols }),
    ...(input.signal === undefined ? {} : { signal: input.signal }),
    ...(input.timeoutMs === undefined ? {} : { timeoutMs: input.timeoutMs }),
  };
}

const succeeded = (result: GitResult): boolean => result.kind === 'exited' && result.code === 0;

function failure(result: GitResult): EnsureCommitResult {
  return result.kind === 'aborted' ? { kind: 'aborted' } : { kind: 'transient', detail: describeGit(result) };
}

/** Looked up once: PATH does not change under a process. */
let flockPath: string | null | undefined;
function lockWrapper(mirror: string): readonly string[] {
  flockPath ??=
    (process.env['PATH'] ?? '')
      .split(delimiter)
      .map((folder) => join(folder, 'flock'))
      .find((file) => existsSync(file)) ?? null;
  return flockPath === null ? [] : [flockPath, '--exclusive', `${mirror}.lock`];
}

const queues = new Map<string, Promise<unknown>>();

/** Runs tasks of one key one after another, in the order they came. A failed one does not stop the next. */
function inOrder<T>(key: string, task: () => Promise<T>): Promise<T> {
  const before = queues.get(key) ?? Promise.resolve();
  const mine = before.then(task, task);
  const settled = mine.then(
    () => undefined,
    () => undefined,
  );
  queues.set(key, settled);
  void settled.then(() => {
    if (queues.get(key) === settled) queues.delete(key);
  });
  return mine;
}
