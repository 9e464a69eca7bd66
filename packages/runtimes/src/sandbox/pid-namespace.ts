/**
 * A PID namespace of util-linux: when its first process ends, the kernel ends all others in it, whatever
 * sessions they made. It hides no file and no network: it may run our own example agent and nothing else.
 *
 *   worker ─pdeathsig─► unshare ─pdeathsig (--kill-child)─► init (PID 1 inside) ─► the command
 *
 * Who dies, and what follows: the command: init ends with its code, the kernel takes the rest. Init: the same.
 * unshare: the kernel kills init. The worker: the kernel kills unshare. So nothing survives in any order.
 */
import { spawn } from 'node:child_process';
import { exitCodeOf } from './exit-code.js';
import { holdInit, initArgv } from './init.js';
import { findProgram, tiedToUs } from './launch.js';
import {
  MARKER_VARIABLE,
  type Probe,
  type SandboxProcess,
  type SandboxProvider,
  type SandboxSpec,
} from './port.js';
import { spawnAlone } from './spawn-alone.js';

const NAMESPACES = ['--pid', '--fork', '--kill-child', '--mount-proc'];
const PROBE_TIMEOUT_MS = 10_000;

export class PidNamespace implements SandboxProvider {
  readonly name = 'pid-namespace';
  readonly isolation = 'pid-namespace';
  readonly mayRunUntrusted = false;
  readonly hasNetworkList = false;
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
        return { kind: 'available', detail: `unshare ${flags.join(' ')}`, limits: ['output'] };
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
      ...initArgv(spec.argv),
    ]);
    const child = spawnAlone(argv, {
      cwd: spec.cwd,
      env: { ...spec.env, [MARKER_VARIABLE]: spec.marker },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    return holdInit(child, this.name, spec.marker);
  }
}
