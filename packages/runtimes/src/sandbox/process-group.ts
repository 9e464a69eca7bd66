/**
 * The last resort for our own example agent where there are no namespaces (other systems, locked-down
 * containers): a process group, and a marker in the environment to find what left it. A process that leaves
 * the group and clears its environment would survive, which is why nothing but our own agent may run here.
 *
 * When the worker is killed the kernel kills the command only; what it started is ended by the marker when the
 * workspace is swept.
 */
import { spawn } from 'node:child_process';
import { endMarked } from './end-sandbox.js';
import { exitCodeOf } from './exit-code.js';
import { tiedToUs } from './launch.js';
import {
  MARKER_VARIABLE,
  type Probe,
  type SandboxProcess,
  type SandboxProvider,
  type SandboxSpec,
  type SandboxStart,
} from './port.js';
import { identify } from './process-identity.js';

export class ProcessGroup implements SandboxProvider {
  readonly name = 'process-group';
  readonly isolation = 'none';
  readonly mayRunUntrusted = false;
  readonly hasNetworkList = false;

  async probe(): Promise<Probe> {
    return { kind: 'available', detail: 'no isolation: for the example agent only', limits: ['output'] };
  }

  start(spec: SandboxSpec): SandboxProcess {
    const [command = '', ...args] = tiedToUs(spec.argv);
    const child = spawn(command, args, {
      cwd: spec.cwd,
      env: { ...spec.env, [MARKER_VARIABLE]: spec.marker },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const kill = (): void => {
      signalGroup(child.pid, 'SIGKILL');
      endMarked(spec.marker);
    };
    const started = new Promise<SandboxStart>((resolve) => {
      child.once('error', (error) => resolve({ kind: 'start-failed', detail: error.message }));
      child.once('spawn', () => {
        const leader = child.pid === undefined ? null : identify(child.pid);
        const processes = leader === null ? [] : [leader];
        resolve({ kind: 'started', identity: { provider: this.name, marker: spec.marker, processes } });
      });
    });
    // Whatever the command left running goes with it, or it would hold the output open for ever.
    child.once('exit', kill);
    return {
      stdout: child.stdout,
      stderr: child.stderr,
      started,
      exited: exitCodeOf(child).then((code) => ({ code })),
      terminate: () => signalGroup(child.pid, 'SIGTERM'),
      kill,
    };
  }
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody is left in it.
  }
}
