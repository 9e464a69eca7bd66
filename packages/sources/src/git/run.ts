/**
 * One git command, bounded. Only arguments, never a shell; the machine's and the user's configuration is not read,
 * nothing is asked on a terminal, and only the protocols of `location.ts` are spoken. The command leads a process
 * group of its own, so that at the end of its time the helpers it started (ssh, https) end with it.
 */
import { spawn } from 'node:child_process';

export interface GitCommand {
  readonly args: readonly string[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal | null;
  /** The executable; `git` from PATH. */
  readonly gitPath: string;
}

export type GitResult =
  | {
      readonly kind: 'exit';
      readonly code: number;
      readonly stdout: string;
      readonly stderr: string;
    }
  /** It was not let finish, or never began. */
  | { readonly kind: 'stopped'; readonly detail: string };

const MAX_OUTPUT_BYTES = 1024 * 1024;
/** Seconds until ssh gives up a silent host; less than any time-out of ours. */
const SSH_CONNECT_SECONDS = 8;

/** What a command may still see of our environment: how to find programs, keys, proxies and certificates. */
const PASSED_ON = [
  'PATH',
  'HOME',
  'SSH_AUTH_SOCK',
  'HTTPS_PROXY',
  'https_proxy',
  'NO_PROXY',
  'no_proxy',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'GIT_SSL_CAINFO',
] as const;

function environment(): NodeJS.ProcessEnv {
  const passedOn = PASSED_ON.filter((name) => process.env[name] !== undefined);
  return {
    ...Object.fromEntries(passedOn.map((name) => [name, process.env[name]])),
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_ALLOW_PROTOCOL: 'file:https:ssh',
    GIT_SSH_COMMAND: `ssh -oBatchMode=yes -oConnectTimeout=${SSH_CONNECT_SECONDS}`,
  };
}

/** Resolves in at most `timeoutMs`, or at once on abort; never rejects. */
export function runGit(command: GitCommand): Promise<GitResult> {
  const { signal, timeoutMs } = command;
  if (signal?.aborted) return Promise.resolve({ kind: 'stopped', detail: 'git was not started: aborted.' });
  return new Promise((settle) => {
    const child = spawn(command.gitPath, command.args, {
      cwd: '/',
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let isSettled = false;
    const finish = (result: GitResult): void => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      settle(result);
    };
    // Does not wait for the process to be gone: one stuck in the kernel must not hold its caller.
    const stop = (detail: string): void => {
      killGroup(child.pid);
      child.stdout.destroy();
      child.stderr.destroy();
      child.unref();
      finish({ kind: 'stopped', detail });
    };
    const onAbort = (): void => stop('git was stopped: aborted.');
    const timer = setTimeout(() => stop(`git gave no answer within ${timeoutMs} ms.`), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });

    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8');
      child[name].on('data', (chunk: string) => {
        output[name] += chunk;
        if (output[name].length > MAX_OUTPUT_BYTES) stop('git said more than a head needs.');
      });
    }
    child.on('error', (cause) => stop(`git could not be started: ${cause.message}`));
    child.on('close', (code) => finish({ kind: 'exit', code: code ?? -1, ...output }));
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}
