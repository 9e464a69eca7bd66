import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { dieWithParent } from '@headgate/embedded';
import { atEnd } from './at-end.js';
import { eventually } from './eventually.js';
import { REPOSITORY_ROOT } from './repository.js';

export interface SpawnOptions {
  /** A built entry, absolute or from the repository's root: `packages/cli/dist/main.js`. */
  readonly entry: string;
  readonly args?: readonly string[];
  /** The whole environment beside PATH, HOME and TMPDIR: nothing of the test run's own leaks in. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Arguments of node itself. */
  readonly nodeArgs?: readonly string[];
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A service as a process of its own. Killed at the end of the test, whatever state it is in. */
export interface SpawnedService {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  hasExited(): boolean;
  stdout(): string;
  stderr(): string;
  /** The first match in what it has printed on either, now or later. Fails at once if it ends without. */
  waitForOutput(pattern: RegExp, deadlineMs?: number): Promise<RegExpExecArray>;
  /** Asks it to stop and returns how it ended. */
  terminate(signal?: NodeJS.Signals): Promise<Exit>;
  /** SIGKILL; returns when it is gone. */
  sigkill(): Promise<Exit>;
  /** Freezes it: its leases run out while it believes in them. */
  sigstop(): void;
  sigcont(): void;
}

export function spawnService(options: SpawnOptions): Promise<SpawnedService> {
  const { entry, args = [], nodeArgs = [], ...rest } = options;
  return spawnProgram({
    ...rest,
    program: process.execPath,
    args: [...nodeArgs, resolve(REPOSITORY_ROOT, entry), ...args],
  });
}

export interface ProgramOptions extends Pick<SpawnOptions, 'args' | 'env' | 'cwd'> {
  /** The full path. */
  readonly program: string;
}

/** As `spawnService`, of any program. */
export async function spawnProgram(options: ProgramOptions): Promise<SpawnedService> {
  const tied = dieWithParent(options.program, [...(options.args ?? [])], 'SIGKILL');
  const child = spawn(tied.program, [...tied.args], {
    cwd: options.cwd ?? REPOSITORY_ROOT,
    env: { ...inherited(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit').then((): Exit => ({ code: child.exitCode, signal: child.signalCode }));
  await once(child, 'spawn');
  const service = new Spawned(child, exited);
  atEnd(async () => {
    await service.sigkill();
  });
  return service;
}

class Spawned implements SpawnedService {
  readonly #said = { stdout: '', stderr: '' };

  constructor(
    private readonly child: ChildProcess,
    readonly exited: Promise<Exit>,
  ) {
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this.#said[name] += text;
      });
    }
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }
  hasExited(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }
  stdout(): string {
    return this.#said.stdout;
  }
  stderr(): string {
    return this.#said.stderr;
  }

  async waitForOutput(pattern: RegExp, deadlineMs = 20_000): Promise<RegExpExecArray> {
    const look = () => pattern.exec(this.#said.stdout) ?? pattern.exec(this.#said.stderr);
    // One more look after the end: output may still be on its way when the process is gone.
    const ended = once(this.child, 'close').then(() => 'ended' as const);
    const isClosed = () => this.hasExited() && this.child.stdout?.closed && this.child.stderr?.closed;
    const found = await Promise.race([
      eventually(() => look() ?? (isClosed() ? 'ended' : null), {
        what: `output like ${pattern}`,
        deadlineMs,
      }),
      ended,
    ]).catch((fault: unknown) => {
      throw new Error(`${String(fault)}\n${this.#everything()}`);
    });
    const match = found === 'ended' ? look() : found;
    if (match === null) throw new Error(`it ended without output like ${pattern}\n${this.#everything()}`);
    return match;
  }

  terminate(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.child.kill(signal);
    return this.exited;
  }
  sigkill(): Promise<Exit> {
    return this.terminate('SIGKILL');
  }
  sigstop(): void {
    this.child.kill('SIGSTOP');
  }
  sigcont(): void {
    this.child.kill('SIGCONT');
  }

  #everything(): string {
    return `--- stdout\n${this.#said.stdout}\n--- stderr\n${this.#said.stderr}`;
  }
}

function inherited(): NodeJS.ProcessEnv {
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
