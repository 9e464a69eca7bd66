/**
 * A PID namespace of util-linux: when its first process ends, the kernel ends all others in it, whatever
 * sessions they made. It hides no file and no network: it may run our own example agent and nothing else.
 *
 *   worker ─pdeathsig─► unshare ─pdeathsig (--kill-child)─► init (PID 1 inside) ─► the command
 *
 * Who dies, and what follows: the command: init ends with its code, the kernel takes the rest. Init: the same.
 * unshare: the kernel kills init. The worker: the kernel kills unshare. So nothing survives in any order.
 * Init is a small shell program because a first process ignores signals that it does not handle: it hands
 * SIGTERM on, and collects what its command leaves behind.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { exitCodeOf } from './exit-code.js';
import { findProgram, tiedToUs } from './launch.js';
import {
  MARKER_VARIABLE,
  type Probe,
  type SandboxProcess,
  type SandboxProvider,
  type SandboxSpec,
  type SandboxStart,
} from './port.js';
import { childrenOf, identify, type ProcessIdentity, signalProcess } from './process-identity.js';

/** File descriptor 3 says that the namespace stands; the command does not get it. */
const INIT = [
  'trap \'[ -z "$child" ] || kill -TERM "$child" 2>/dev/null\' TERM',
  'printf r >&3; exec 3>&-',
  '"$@" & child=$!',
  // A trapped signal interrupts wait, so wait again for as long as the command is there.
  'while :; do wait "$child"; code=$?; kill -0 "$child" 2>/dev/null || break; done',
  'exit "$code"',
].join('\n');

const NAMESPACES = ['--pid', '--fork', '--kill-child', '--mount-proc'];
const PROBE_TIMEOUT_MS = 10_000;

export class PidNamespace implements SandboxProvider {
  readonly name = 'pid-namespace';
  readonly isolation = 'pid-namespace';
  readonly mayRunUntrusted = false;
  /** Root makes the namespace directly; others need a user namespace in which they are root. */
  #flags: readonly string[] = process.getuid?.() === 0 ? NAMESPACES : ['--map-root-user', ...NAMESPACES];

  async probe(): Promise<Probe> {
    const unshare = findProgram('unshare');
    if (unshare === null || findProgram('setpriv') === null) {
      return {
        kind: 'unavailable',
        detail: 'unshare and setpriv of util-linux are not installed',
        remedy: 'apt-get install util-linux',
      };
    }
    let said = '';
    for (const flags of [this.#flags, ['--map-root-user', ...NAMESPACES]]) {
      const child = spawn(unshare, [...flags, '--', '/bin/true'], {
        stdio: ['ignore', 'ignore', 'pipe'],
        timeout: PROBE_TIMEOUT_MS,
        killSignal: 'SIGKILL',
        env: {},
        cwd: '/',
      });
      child.stderr.on('data', (chunk: Buffer) => {
        said = chunk.toString('utf8').trim();
      });
      const code = await exitCodeOf(child);
      if (code === 0) {
        this.#flags = flags;
        return { kind: 'available', detail: `unshare ${flags.join(' ')}` };
      }
    }
    return {
      kind: 'unavailable',
      detail: said === '' ? 'unshare failed' : said,
      remedy: 'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
    };
  }

  start(spec: SandboxSpec): SandboxProcess {
    const argv = tiedToUs([
      findProgram('unshare') ?? 'unshare',
      ...this.#flags,
      '--',
      '/bin/sh',
      '-c',
      INIT,
      'headgate-init',
      ...spec.argv,
    ]);
    const [command = '', ...args] = argv;
    const child = spawn(command, args, {
      cwd: spec.cwd,
      env: { ...spec.env, [MARKER_VARIABLE]: spec.marker },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    let init: ProcessIdentity | null = null;
    const exited = exitCodeOf(child).then((code) => ({ code }));
    const started = this.#started(child, spec.marker, exited).then((start) => {
      if (start.kind === 'started') init = start.identity.processes[0] ?? null;
      return start;
    });
    return {
      stdout: child.stdout as NonNullable<typeof child.stdout>,
      stderr: child.stderr as NonNullable<typeof child.stderr>,
      started,
      exited,
      terminate: () => {
        if (init === null) child.kill('SIGKILL');
        else signalProcess(init, 'SIGTERM');
      },
      kill: () => {
        if (init !== null) signalProcess(init, 'SIGKILL');
        child.kill('SIGKILL');
      },
    };
  }

  async #started(
    child: ChildProcess,
    marker: string,
    exited: Promise<{ readonly code: number }>,
  ): Promise<SandboxStart> {
    const ready = child.stdio[3];
    if (ready === null || ready === undefined) return { kind: 'start-failed', detail: 'no pipe' };
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      if (said.length < 4096) said += chunk.toString('utf8');
    });
    const first = await Promise.race([
      once(ready, 'data').then(() => 'ready' as const),
      exited.then(({ code }) => code),
    ]);
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
      identity: {
        provider: this.name,
        marker,
        processes: [inner, outer].filter((target) => target !== null),
      },
    };
  }
}
