/**
 * Tests wait for these instead of sleeping. Free when nobody listens: two comparisons.
 *
 * In a process: `onTestSignal`, `waitForSignal`. Across processes: HEADGATE_SIGNALS_FILE names a file to which
 * each signal is appended as one line `{name, pid, monoNs, detail}` in one write; the testkit follows it.
 */
import { openSync } from 'node:fs';
import { appendLine, toJsonLine } from './json-line.js';

export type TestSignalDetail = Readonly<Record<string, unknown>>;
export type TestSignalListener = (detail: TestSignalDetail) => void;

/** One line of HEADGATE_SIGNALS_FILE. */
export interface TestSignalLine {
  readonly name: string;
  readonly pid: number;
  /** CLOCK_MONOTONIC in nanoseconds as decimal text: comparable between the processes of one machine. */
  readonly monoNs: string;
  readonly detail: TestSignalDetail;
}

const NO_DETAIL: TestSignalDetail = {};
let listeners: Map<string, Set<TestSignalListener>> | null = null;
const signalsFile = process.env['HEADGATE_SIGNALS_FILE'] ?? '';
const signalsFd: number | null = signalsFile === '' ? null : openSync(signalsFile, 'a', 0o600);

function deliver(name: string, detail: TestSignalDetail): void {
  for (const listener of [...(listeners?.get(name) ?? [])]) {
    try {
      listener(detail);
    } catch (error) {
      // A test's mistake must fail the test, not the service that happened to signal.
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

/** Says that something has happened, e.g. `testSignal('worker.claimed', { runId })`. */
export function testSignal(name: string, detail: TestSignalDetail = NO_DETAIL): void {
  if (signalsFd !== null) {
    const line: TestSignalLine = {
      name,
      pid: process.pid,
      monoNs: process.hrtime.bigint().toString(),
      detail,
    };
    appendLine(signalsFd, toJsonLine(line));
  }
  if (listeners !== null) deliver(name, detail);
}

/** Calls `listener` at each signal of that name; returns the function that stops it. */
export function onTestSignal(name: string, listener: TestSignalListener): () => void {
  listeners ??= new Map();
  const set = listeners.get(name) ?? new Set();
  listeners.set(name, set);
  set.add(listener);
  return () => {
    set.delete(listener);
    if (set.size === 0 && listeners?.get(name) === set) listeners.delete(name);
    if (listeners?.size === 0) listeners = null;
  };
}

/**
 * The detail of the next signal of that name which satisfies `predicate`. Ask before you do what causes it:
 * signals are not kept. Rejects after `deadlineMs`.
 */
export function waitForSignal(
  name: string,
  predicate: (detail: TestSignalDetail) => boolean = () => true,
  deadlineMs = 30_000,
): Promise<TestSignalDetail> {
  return new Promise((resolve, reject) => {
    let seen = 0;
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      stop();
      settle();
    };
    const timer = setTimeout(() => {
      const others = seen === 0 ? 'none of that name came' : `${seen} of that name did not match`;
      finish(() => reject(new Error(`No test signal "${name}" within ${deadlineMs} ms: ${others}.`)));
    }, deadlineMs);
    const stop = onTestSignal(name, (detail) => {
      seen += 1;
      let matches: boolean;
      try {
        matches = predicate(detail);
      } catch (error) {
        finish(() => reject(error));
        return;
      }
      if (matches) finish(() => resolve(detail));
    });
  });
}
