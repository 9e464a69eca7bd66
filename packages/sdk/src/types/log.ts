/** The logs of a run's attempts, also while they are written. Places in a log are counted in bytes. */
import type { Instant } from './shared.js';

export type LogStep = 'setup' | 'agent' | 'verify';

export interface LogFile {
  readonly attempt: number;
  /** `agent.log`, `setup.log`, `setup-2.log` … */
  readonly name: string;
  readonly step: LogStep;
  /** Which command of the step, from 1. */
  readonly number: number;
  readonly bytes: number;
  /** Nothing is added any more. */
  readonly isComplete: boolean;
  /** False: it lies with the worker that wrote it, out of this console's reach. */
  readonly isHere: boolean;
  readonly writtenAt: Instant | null;
}

export interface LogQuery {
  readonly attempt: number;
  /** From here on. */
  readonly offset?: number;
  /** Up to here; without both, up to the end. */
  readonly before?: number;
  /** Bytes at most: 1 024 to 1 048 576; 262 144 by default. */
  readonly limit?: number;
}

/** Whole lines, but for one that is longer than the limit, and the last one of a log that is being written. */
export interface LogRange {
  readonly attempt: number;
  readonly name: string;
  readonly offset: number;
  readonly nextOffset: number;
  /** Of the whole log, now. */
  readonly bytes: number;
  readonly isComplete: boolean;
  readonly text: string;
}

export interface LogSearch {
  readonly attempt: number;
  /** Looked for in each line, whatever its case. */
  readonly text: string;
  /** Go on from here: `nextOffset` of the answer before. */
  readonly offset?: number;
}

export interface LogMatches {
  readonly attempt: number;
  readonly name: string;
  /** Where the line begins, and the line, cut to 500 characters. */
  readonly items: { readonly offset: number; readonly line: string }[];
  /** Null: the log was looked through to its end. */
  readonly nextOffset: number | null;
}
