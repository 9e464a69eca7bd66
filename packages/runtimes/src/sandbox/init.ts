/**
 * The first process of a PID namespace, and how the worker holds on to it.
 *
 * When the first process ends, the kernel ends all others in the namespace, whatever sessions they made. Ours is
 * a small shell program because a first process ignores signals that it does not handle: it hands SIGTERM on, and
 * collects what its command leaves behind.
 *
 * File descriptor 3 goes both ways; the command does not get it. Init says on it that the namespace stands and waits
 * for a line before it starts the command:
 *
 *   launcher ─fork─► init ─prctl(pdeathsig)─► exec ─"r"─► worker looks: launcher alive, nobody has killed ─line─► command
 *
 * A launcher that is killed between its fork and the prctl of what it forked kills nobody: init would live on, with
 * nobody to end it. So whoever kills closes the descriptor first, and so does the death of the worker: init then reads
 * an end instead of a line and goes. After the line the tie stands and init is known, so both ways of killing work.
 *
 * Before init is known there is one more place to be left in: bubblewrap's child waits for its parent to map the users,
 * by an eventfd that never ends. Who kills finds it by its marker once the launcher is gone. Of a worker that dies just
 * then it is the next one's sweep that finds it; it sleeps, and has started nothing.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { endMarked } from './end-sandbox.js';
import { exitCodeOf } from './exit-code.js';
import type { ExceededLimit } from './limits.js';
import type { SandboxProcess, SandboxStart } from './port.js';
import { childrenOf, identify, isAlive, type ProcessIdentity, signalProcess } from './process-identity.js';

const INIT = [
  'trap \'asked=1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null\' TERM',
  'printf r >&3; read -r line <&3 || exit "$((asked ? 143 : 125))"; exec 3>&-',
  '"$@" & child=$!',
  '[ -z "$asked" ] || kill -TERM "$child" 2>/dev/null',
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
  let isKilled = false;
  const line = child.stdio[3] instanceof Socket ? child.stdio[3] : null;
  line?.on('error', () => {});
  const kill = (): void => {
    isKilled = true;
    line?.destroy();
    if (init !== null) signalProcess(init, 'SIGKILL');
    child.kill('SIGKILL');
  };
  child.once('exit', () => {
    if (init === null) endMarked(marker);
  });
  const letGo = (start: SandboxStart): void => {
    if (start.kind !== 'started') return;
    const [inner, outer] = start.identity.processes;
    init = inner ?? null;
    if (isKilled || outer === undefined || !isAlive(outer)) kill();
    else line?.end('\n');
  };
  const code = exitCodeOf(child);
  const started = waitForInit(child, name, marker, code).then((start) => {
    letGo(start);
    if (init !== null) watching = watch?.(init, kill) ?? null;
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
      if (init === null) kill();
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
  const stands = once(ready, 'data').then(
    () => 'ready' as const,
    () => code,
  );
  const first = await Promise.race([stands, code]);
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
