/**
 * The history recorder (proof.md): one line per operation of every process, for the history checker.
 * Free when HEADGATE_HISTORY_DIR is unset: one comparison.
 *
 * Each process (and thread) appends to a file of its own, `<proc>-<pid>.jsonl`. An entry is written before
 * `record` returns, so a SIGKILL loses nothing that was recorded; a line it tore is the last one and is left
 * out by the reader. A write that fails throws: a history with holes would make the checker lie.
 */
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { basename, join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { appendLine, toJsonLine } from './json-line.js';

export interface HistoryEntry {
  readonly type: 'invoke' | 'ok' | 'fail' | 'info';
  /** A name from `HISTORY_OPS`. */
  readonly op: string;
  readonly tenant?: string | number | null;
  readonly run?: string | null;
  readonly fencingToken?: string | number | null;
  readonly leaseId?: string | null;
  readonly key?: string | null;
  readonly result?: unknown;
}

/** An entry as it stands in the file. */
export interface RecordedEntry extends HistoryEntry {
  /** Grows by one within `proc`. */
  readonly seq: number;
  /** The file's name without its ending: one process, or one thread of it. */
  readonly proc: string;
  /** CLOCK_MONOTONIC in nanoseconds as decimal text: comparable between the processes of one machine. */
  readonly monoNs: string;
}

interface Recorder {
  readonly fd: number;
  readonly proc: string;
  seq: number;
}

let directory = process.env['HEADGATE_HISTORY_DIR'] ?? '';
let processName =
  process.env['HEADGATE_PROC'] ?? basename(process.argv[1] ?? 'node').replace(/\.[cm]?[jt]s$/, '');
let recorder: Recorder | null = null;

/** Names this process in the history, before it records anything; otherwise HEADGATE_PROC or its script names it. */
export function nameHistoryProcess(name: string): void {
  processName = name;
}

/** For tests: records into this folder from now on, in files of its own; '' records no more. */
export function recordHistoryIn(folder: string): void {
  if (recorder !== null) closeSync(recorder.fd);
  recorder = null;
  directory = folder;
}

function open(): Recorder {
  mkdirSync(directory, { recursive: true });
  const thread = threadId === 0 ? '' : `-t${threadId}`;
  const stem = `${processName.replace(/[^A-Za-z0-9_.-]/g, '_')}-${process.pid}${thread}`;
  // A pid comes again (always 1 in a container): a second process gets its own file, never the dead one's.
  for (let reuse = 1; ; reuse += 1) {
    const proc = reuse === 1 ? stem : `${stem}-${reuse}`;
    try {
      return { fd: openSync(join(directory, `${proc}.jsonl`), 'ax', 0o600), proc, seq: 0 };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Appends `{seq, proc, monoNs, …entry}`. */
export function record(entry: HistoryEntry): void {
  if (directory === '') return;
  recorder ??= open();
  recorder.seq += 1;
  const line: RecordedEntry = {
    seq: recorder.seq,
    proc: recorder.proc,
    monoNs: process.hrtime.bigint().toString(),
    ...entry,
  };
  appendLine(recorder.fd, toJsonLine(line));
}
