/**
 * The first process of a PID namespace, and how the worker holds on to it.
 *
 * When the first process ends, the kernel ends all others in the namespace, whatever sessions they made. Ours is
 * a small shell program because a first process ignores signals that it does not handle: it hands SIGTERM on, and
 * collects what its command leaves behind.
 *
 * File descriptor 3 says that the namespace stands; the command does not get it.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { exitCodeOf } from './exit-code.js';
import type { ExceededLimit } from './limits.js';
import type { SandboxProcess, SandboxStart } from './port.js';
import { childrenOf, identify, type ProcessIdentity, signalProcess } from './process-identity.js';

const INIT = [
  'trap \'[ -z "$child" ] || kill -TERM "$child" 2>/dev/null\' TERM',
  'printf r >&3; exec 3>&-',
  '"$@" & child=$!',
  // A trapped signal interrupts wait, so wait again for as long as the command is there.
  'while :; do wait "$child"; code=$?; kill -0 "$child" 2>/dev/null || break; done',
  'exit "$code"',
].join('\n');

export const initArgv = (argv: readonly string[]): readonly string[] => [
  '/bin/sh',
  '-c',
  INIT,
  'headgate-init',
  ...argv,
];

/** What looks after a sandbox while it runs. */
export interface Watch {
  /** Ends the watch, and says for which limit the sandbox was ended. */
  stop(): Promise<ExceededLimit | null>;
}

/**
 * A child process (with a pipe at descriptor 3) in which an `initArgv` comes to run. `watch` is called once it does;
 * its second argument ends everything.
 */
export function holdInit(
  child: ChildProcess,
  name: string,
  marker: string,
  watch?: (init: ProcessIdentity, kill: () => void) => Watch,
): SandboxProcess {
  let init: ProcessIdentity | null = null;
  let watching: Watch | null = null;
  const kill = (): void => {
    if (init !== null) signalProcess(init, 'SIGKILL');
    child.kill('SIGKILL');
  };
  const code = exitCodeOf(child);
  const started = waitForInit(child, name, marker, code).then((start) => {
    if (start.kind === 'started') {
      init = start.identity.processes[0] ?? null;
      if (init !== null) watching = watch?.(init, kill) ?? null;
    }
    return start;
  });
  return {
    stdout: child.stdout ?? new PassThrough().end(),
    stderr: child.stderr ?? new PassThrough().end(),
    started,
    exited: code.then(async (ended) => {
      await started;
      const exceeded = (await watching?.stop()) ?? null;
      return exceeded === null ? { code: ended } : { code: ended, exceeded };
    }),
    terminate: () => {
      if (init === null) child.kill('SIGKILL');
      else signalProcess(init, 'SIGTERM');
    },
    kill,
  };
}

const MAX_SAID_CHARACTERS = 4_096;

async function waitForInit(
  child: ChildProcess,
  name: string,
  marker: string,
  code: Promise<number>,
): Promise<SandboxStart> {
  const ready = child.stdio[3];
  if (ready === null || ready === undefined) return { kind: 'start-failed', detail: 'no pipe' };
  let said = '';
  const listen = (chunk: Buffer): void => {
    if (said.length < MAX_SAID_CHARACTERS) said += chunk.toString('utf8');
  };
  child.stderr?.on('data', listen);
  const first = await Promise.race([once(ready, 'data').then(() => 'ready' as const), code]);
  child.stderr?.off('data', listen);
  if (first !== 'ready') {
    return {
      kind: 'start-failed',
      detail: `the sandbox ended with ${first} before it stood: ${said.trim()}`,
    };
  }
  const outer = child.pid === undefined ? null : identify(child.pid);
  const inner = outer === null ? null : identify(childrenOf(outer.pid)[0] ?? 0);
  return {
    kind: 'started',
    identity: { provider: name, marker, processes: [inner, outer].filter((target) => target !== null) },
  };
}
