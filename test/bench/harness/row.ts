/** One line of the result. */
import type { Place } from './place.js';

export interface Row {
  readonly name: string;
  readonly unit: string;
  readonly ours: readonly number[];
  /** What it is measured against; null where the target is a figure of its own. */
  readonly against: { readonly name: string; readonly values: readonly number[] } | null;
  readonly target: Target | null;
  readonly note?: string;
}

export interface Target {
  /** Of the ratio to `against` where there is one, else of the value. */
  readonly kind: 'at-least' | 'at-most';
  readonly value: number;
}

export interface Effort {
  readonly isQuick: boolean;
  readonly rounds: number;
  /** Of one load, in seconds. */
  readonly loadSeconds: number;
  /** Runs of one drain. */
  readonly runs: number;
  /** Drained before those, so that both sides have run a while. */
  readonly warmUpRuns: number;
  /** Waiting runs and tenants of the large backlog. */
  readonly backlog: number;
  readonly tenants: number;
  readonly receipts: number;
  readonly latencySamples: number;
}

export interface Bench {
  readonly place: Place;
  readonly effort: Effort;
  readonly peers: Peers;
  /** Path of wrk; null: it is not installed. */
  readonly wrk: string | null;
  say(text: string): void;
}

/** The programs that Headgate is measured against, installed. */
export interface Peers {
  readonly node: string;
  readonly folder: string;
}

/** A part of the benchmark: makes one or more rows. */
export interface Part {
  readonly name: string;
  readonly run: (bench: Bench) => Promise<readonly Row[]>;
}
