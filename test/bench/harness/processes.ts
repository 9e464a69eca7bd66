/** Processes of a benchmark: each speaks in lines of JSON, and none outlives us. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { dieWithParent } from '@headgate/embedded';

export type Line = Readonly<Record<string, unknown>>;

export class Child {
  readonly lines: Line[] = [];
  readonly #process: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #listeners = new Set<(line: Line) => void>();
  #tail = '';

  constructor(program: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    const tied = dieWithParent(program, [...args], 'SIGKILL');
    this.#process = spawn(tied.program, [...tied.args], {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TMPDIR: process.env['TMPDIR'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#exited = once(this.#process, 'exit');
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      if (stream !== null) createInterface({ input: stream }).on('line', (text) => this.#hear(text));
    }
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** The first line for which `pick` has an answer, said before or later. */
  said<T>(what: string, pick: (line: Line) => T | undefined, withinMs = 60_000): Promise<T> {
    for (const line of this.lines) {
      const found = pick(line);
      if (found !== undefined) return Promise.resolve(found);
    }
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => end(() => reject(this.fault(`did not say ${what} in time`))), withinMs);
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        this.#listeners.delete(listen);
        settle();
      };
      const listen = (line: Line): void => {
        const found = pick(line);
        if (found !== undefined) end(() => resolve(found));
      };
      this.#listeners.add(listen);
      void this.#exited.then(() => setImmediate(() => end(() => reject(this.fault(`ended before ${what}`)))));
    });
  }

  /** Returns what ends the listening. */
  on(listener: (line: Line) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#process.kill(signal);
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), 10_000);
    await this.#exited;
    clearTimeout(timer);
  }

  get hasExited(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  async exited(): Promise<number | null> {
    await this.#exited;
    return this.#process.exitCode;
  }

  #hear(text: string): void {
    this.#tail = `${this.#tail}${text}\n`.slice(-4_000);
    if (!text.startsWith('{')) return;
    try {
      const line = JSON.parse(text) as Line;
      this.lines.push(line);
      for (const listener of [...this.#listeners]) listener(line);
    } catch {
      // Half a line, or somebody else's braces.
    }
  }

  fault(what: string): Error {
    return new Error(`process ${this.pid} ${what}; it said:\n${this.#tail}`);
  }
}

/** CPU time of a process so far, user and system. Linux. */
export function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const TICK_MS = 10;
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK_MS;
}

/** Largest resident size of a process so far, in MB. Linux. */
export function peakRssMb(pid: number): number {
  const found = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(found?.[1] ?? 0) / 1024;
}
