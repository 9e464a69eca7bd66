// The processes that a script starts. Each is the head of its own process group, so that a Ctrl-C reaches only the
// script, which ends them all, with everything they started, and then itself. On Linux the kernel also ends them
// if the script is killed.
import { spawn, spawnSync } from 'node:child_process';
import { constants } from 'node:os';

/** How long a child may take to end when asked before its group is killed. */
const GRACE_MS = 5_000;

/** @type {Set<{ child: import('node:child_process').ChildProcess, stopSignal: NodeJS.Signals | null, graceMs: number }>} */
const running = new Set();
/** What must be undone however the script ends. @type {Set<() => void>} */
const undoings = new Set();
let isEnding = false;

/** Runs `undo` when the script is interrupted; the returned function forgets it. */
export function onInterrupt(undo) {
  undoings.add(undo);
  return () => undoings.delete(undo);
}

/**
 * Runs a program to its end.
 *
 * `show: true` gives it our output, else what it prints is collected. A `stopSignal` of null passes on the signal
 * that we get; `graceMs` is how long it may then take.
 *
 * @returns {Promise<{ code: number, output: string }>} code is 128 + n if it was ended by signal n, 127 if it could
 *   not be started
 */
export function run(program, args, options = {}) {
  const { show = false, stopSignal = 'SIGTERM', graceMs = GRACE_MS, cwd, env = process.env } = options;
  // Interrupted between two steps: the next one must not begin.
  if (isEnding) return new Promise(() => {});
  const [file, ...rest] = dieWithUs(program, args);
  const stdio = show ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'];
  const child = spawn(file, rest, { cwd, env, stdio, detached: true });
  const entry = { child, stopSignal, graceMs };
  running.add(entry);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  return new Promise((resolve) => {
    const done = (code) => {
      running.delete(entry);
      // While we are being ended the interrupt decides how this process exits.
      if (!isEnding) resolve({ code, output });
    };
    child.once('error', (error) => {
      output += error.message;
      done(127);
    });
    child.once('close', (code, signal) => done(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interrupted(signal));

async function interrupted(signal) {
  if (isEnding) return;
  isEnding = true;
  await Promise.all([...running].map((entry) => end(entry, entry.stopSignal ?? signal)));
  for (const undo of undoings) undo();
  process.exit(128 + constants.signals[signal]);
}

async function end({ child, graceMs }, signal) {
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  const over = new Promise((resolve) => (isOver() ? resolve() : child.once('exit', resolve)));
  signalGroup(child.pid, signal);
  const timer = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), graceMs);
  await over;
  clearTimeout(timer);
  // What it started and left behind.
  signalGroup(child.pid, 'SIGKILL');
}

function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone.
  }
}

let canTie;

/** @returns {string[]} */
function dieWithUs(program, args) {
  canTie ??=
    process.platform === 'linux' && spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true']).status === 0;
  return canTie ? ['setpriv', '--pdeathsig', 'TERM', '--', program, ...args] : [program, ...args];
}
