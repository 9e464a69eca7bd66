/**
 * One git process: argv only, never a shell; bounded in time and output; stopped with everything it started.
 *
 * It runs in a process group of its own, because git's transports (ssh, receive-pack) are children that would
 * outlive it. When our process is killed git may finish what it was doing: that is the one call in flight
 * which every caller has to expect anyway.
 */
import { spawn } from 'node:child_process';
import { type GitEnvironment, gitEnvironment } from './environment.js';

export const GIT_TIMEOUT_MS = 60_000;
/** Larger than any answer we ask for except patches, whose callers set their own. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const MAX_STDERR_BYTES = 64 * 1024;

export interface GitOptions extends GitEnvironment {
  readonly args: readonly string[];
  /** `--git-dir`. Without it git looks for nothing: commands that need a repository fail. */
  readonly gitDir?: string;
  readonly cwd?: string;
  readonly stdin?: Buffer | string;
  readonly timeoutMs?: number;
  readonly maxOutputBytes?: number;
  readonly signal?: AbortSignal;
  /** Commands put before git, e.g. `flock --exclusive FILE`. */
  readonly wrapper?: readonly string[];
}

export type GitResult =
  | { readonly kind: 'exited'; readonly code: number; readonly stdout: Buffer; readonly stderr: string }
  | { readonly kind: 'timeout'; readonly timeoutMs: number }
  | { readonly kind: 'aborted' }
  | { readonly kind: 'output-limit'; readonly maxOutputBytes: number }
  | { readonly kind: 'start-failed'; readonly detail: string };

/** Runs git. Never throws for anything git or the machine does. */
export function runGit(options: GitOptions): Promise<GitResult> {
  const { signal, timeoutMs = GIT_TIMEOUT_MS, maxOutputBytes = MAX_OUTPUT_BYTES } = options;
  if (signal?.aborted === true) return Promise.resolve({ kind: 'aborted' });
  const argv = [
    ...(options.wrapper ?? []),
    'git',
    ...(options.gitDir === undefined ? [] : [`--git-dir=${options.gitDir}`]),
    ...options.args,
  ];
  const [command = 'git', ...args] = argv;
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: options.cwd ?? options.gitDir ?? '/',
      env: gitEnvironment(options),
      stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      detached: true,
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let stdoutBytes = 0;
    let stderrBytes = 0;
    let early: GitResult | null = null;

    const stop = (because: GitResult): void => {
      early ??= because;
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The group is gone already; `close` follows.
      }
    };
    const onAbort = (): void => stop({ kind: 'aborted' });
    const timer = setTimeout(() => stop({ kind: 'timeout', timeoutMs }), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    const settle = (result: GitResult): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      resolve(result);
    };

    child.stdout?.on('data', (chunk: Buffer) => {
      stdoutBytes += chunk.length;
      if (stdoutBytes > maxOutputBytes) stop({ kind: 'output-limit', maxOutputBytes });
      else stdout.push(chunk);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      // Evidence only: the beginning is enough, and draining must go on.
      if (stderrBytes < MAX_STDERR_BYTES) stderr.push(chunk);
      stderrBytes += chunk.length;
    });
    child.stdin?.on('error', () => {
      // git stopped reading; its exit code says why.
    });
    if (options.stdin !== undefined) child.stdin?.end(options.stdin);
    child.on('error', (error) => settle({ kind: 'start-failed', detail: error.message }));
    child.on('close', (code, killedBy) => {
      settle(
        early ?? {
          kind: 'exited',
          code: code ?? 128,
          stdout: Buffer.concat(stdout),
          stderr:
            Buffer.concat(stderr).toString('utf8').trim() +
            (killedBy === null ? '' : ` (killed by ${killedBy})`),
        },
      );
    });
  });
}

/** What a failed git said, in one line, without credentials. */
export function describeGit(result: GitResult): string {
  switch (result.kind) {
    case 'exited':
      return `git exited with ${result.code}: ${withoutCredentials(result.stderr).slice(0, 2000)}`;
    case 'timeout':
      return `git took longer than ${result.timeoutMs} ms`;
    case 'aborted':
      return 'git was stopped';
    case 'output-limit':
      return `git printed more than ${result.maxOutputBytes} bytes`;
    case 'start-failed':
      return `git could not be started: ${result.detail}`;
  }
}

/** `https://user:token@host/` becomes `https://host/`, in a URL or anywhere in a text. */
export const withoutCredentials = (text: string): string =>
  text.replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^/@\s]+@/gi, '$1');

/** Thrown by `gitOutput`: git failed where only a fault can make it fail. */
export class GitError extends Error {
  readonly code = 'INTERNAL_ERROR';
  readonly result: GitResult;

  constructor(args: readonly string[], result: GitResult) {
    super(`git ${args[0] ?? ''}: ${describeGit(result)}`);
    this.name = 'GitError';
    this.result = result;
  }
}

/** The standard output of a git that has to succeed. Throws `GitError` otherwise. */
export async function gitOutput(options: GitOptions): Promise<Buffer> {
  const result = await runGit(options);
  if (result.kind === 'exited' && result.code === 0) return result.stdout;
  throw new GitError(options.args, result);
}
