/**
 * One server as a child of ours: its own session (a Ctrl-C at the terminal reaches us, and we stop it in order),
 * its output in a log file, and a signal from the kernel if we die.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { dieWithParent } from './die-with-parent.js';
import { endProcess } from './end-process.js';
import { identify, isAlive, sendSignal } from './identity.js';
import type { RunAs } from './unprivileged.js';

export interface ServerCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly runAs: RunAs | null;
  /** Written to its standard input, which is then closed. */
  readonly input?: string;
  readonly logFile: string;
  readonly stopSignal: NodeJS.Signals;
}

export interface ServerProcess {
  readonly pid: number;
  /** Settles when it ended, however. */
  readonly exited: Promise<void>;
  hasExited(): boolean;
  /** What it logged since it was started, at most the last 4 kB. */
  logTail(): string;
  /** Asks it to stop, then kills it; returns when it is gone. */
  end(): Promise<void>;
}

const LOG_TAIL_CHARS = 4_000;
const LOG_ROTATE_BYTES = 10 * 1024 * 1024;

/** Children that would survive `process.exit()` where the kernel does not tell them. */
const living = new Set<{ readonly pid: number; readonly stopSignal: NodeJS.Signals }>();
let isExitHooked = false;

/** Starts it. Rejects only when the program cannot be started at all. */
export async function startServerProcess(command: ServerCommand): Promise<ServerProcess> {
  rotate(command.logFile);
  const log = openSync(command.logFile, 'a', 0o600);
  const logFrom = statSync(command.logFile).size;
  const tied = dieWithParent(command.program, command.args, command.stopSignal);
  let child: ChildProcess;
  try {
    child = spawn(tied.program, [...tied.args], {
      cwd: command.cwd,
      env: command.env,
      detached: true,
      stdio: [command.input === undefined ? 'ignore' : 'pipe', log, log],
      ...(command.runAs ?? {}),
    });
    await once(child, 'spawn');
  } finally {
    closeSync(log);
  }
  if (child.stdin) {
    // A server that dies at once breaks the pipe; its exit says so better.
    child.stdin.on('error', () => {});
    child.stdin.end(command.input);
  }
  const pid = child.pid ?? 0;
  const who = { pid, startedAt: identify(pid)?.startedAt ?? '', stopSignal: command.stopSignal };
  hookExit();
  living.add(who);
  const exited = new Promise<void>((settle) => {
    const done = () => {
      living.delete(who);
      settle();
    };
    if (child.exitCode !== null || child.signalCode !== null) done();
    else child.once('exit', done);
  });
  return {
    pid,
    exited,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    logTail: () => readFileSync(command.logFile).subarray(logFrom).toString('utf8').slice(-LOG_TAIL_CHARS),
    async end() {
      if (isAlive(who)) await endProcess(who, command.stopSignal);
      await exited;
    },
  };
}

function rotate(logFile: string): void {
  try {
    if (statSync(logFile).size > LOG_ROTATE_BYTES) renameSync(logFile, `${logFile}.1`);
  } catch {
    // There is no log yet.
  }
}

function hookExit(): void {
  if (isExitHooked) return;
  isExitHooked = true;
  process.on('exit', () => {
    for (const child of living) sendSignal(child.pid, child.stopSignal);
  });
}
