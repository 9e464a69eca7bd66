/** What can be said about one worker; everything has a default. */
import type { Capabilities } from '@headgate/domain';
import type { ChosenSandbox } from '@headgate/runtimes';
import type { SourceReader } from '@headgate/sources';
import type { AttemptBody } from './run/execute.js';

/** Bounds and periods of a worker that are not of the lease (those are the policy's). Tests shorten them. */
export interface WorkerTiming {
  /** Between two looks at the database while hints cannot be relied upon. */
  readonly pollMs: number;
  /** The same while they can: a belt. */
  readonly beltMs: number;
  /** How old an item must be for the belt to look at it: dispatch hints again after 5 s. */
  readonly beltOlderThanMs: number;
  /** Longest read of a source before a lease. */
  readonly readTimeoutMs: number;
  /** How old a verdict may be at its claim. */
  readonly verdictMaxAgeMs: number;
  /** The first wait of a run whose source cannot be read; doubled each time, up to `sourceWaitCapMs`. */
  readonly sourceWaitMs: number;
  readonly sourceWaitCapMs: number;
  /** The wait of a run that no live worker can run. */
  readonly incapableWaitMs: number;
  /** Stage writes are collected for so long. */
  readonly stageCollectMs: number;
  /** Between two tries of a write while Postgres does not answer. */
  readonly retryMs: number;
  /** From asking an agent to stop to killing it. */
  readonly killGraceMs: number;
  /** After a kill, until an agent counts as not seen to stop. */
  readonly stopConfirmMs: number;
  /** What a push in flight is given when the worker has to go. */
  readonly pushGraceMs: number;
  /** Bound of `stop`. */
  readonly stopWithinMs: number;
  /** Workspaces whose owner cannot be judged are swept after this. */
  readonly sweepOlderThanMs: number;
}

export const WORKER_TIMING: WorkerTiming = {
  pollMs: 1_000,
  beltMs: 15_000,
  beltOlderThanMs: 5_000,
  readTimeoutMs: 10_000,
  verdictMaxAgeMs: 30_000,
  sourceWaitMs: 10_000,
  sourceWaitCapMs: 10 * 60_000,
  incapableWaitMs: 30_000,
  stageCollectMs: 200,
  retryMs: 500,
  killGraceMs: 2_000,
  stopConfirmMs: 10_000,
  pushGraceMs: 5_000,
  stopWithinMs: 8_000,
  sweepOlderThanMs: 24 * 3_600_000,
};

export interface WorkerOptions {
  /** For people. Default: host and process. */
  readonly name?: string;
  /** Runs at once. Default: HEADGATE_WORKER_SLOTS, else 4. */
  readonly slots?: number;
  /** Queue ids of the configuration. Default: every queue that this worker can serve. */
  readonly queues?: readonly string[];
  /** Offered beside what was probed, which it never replaces: what no program can find out (`gpu`, `zone`). */
  readonly offers?: Capabilities;
  /** How long `drain` lets runs finish before it hands them back. Default 15 s. */
  readonly graceMs?: number;
  readonly timing?: Partial<WorkerTiming>;
  /** Default: the strongest that works here. */
  readonly sandbox?: ChosenSandbox;
  /** Default: GitHub's API where a source has credentials, else git. */
  readonly reader?: SourceReader;
  /** How long a push that was cut off may still land. Default: that of the effects. */
  readonly settleMs?: number;
  /**
   * What an attempt does between its claim and its end. Default: workspace, agent, verification, push. Benchmarks put a
   * no-op here, so that what is measured is everything around it.
   */
  readonly attempt?: AttemptBody;
}

export const DEFAULT_SLOTS = 4;
export const DEFAULT_GRACE_MS = 15_000;
const MAX_SLOTS = 1_000;

/** Reads HEADGATE_WORKER_SLOTS. Throws a RangeError with a sentence for people when it is no number of slots. */
export function slotsFromEnvironment(env: Readonly<Record<string, string | undefined>>): number {
  const written = env['HEADGATE_WORKER_SLOTS'] ?? '';
  if (written === '') return DEFAULT_SLOTS;
  const slots = /^\d{1,4}$/.test(written) ? Number(written) : 0;
  if (slots < 1 || slots > MAX_SLOTS) {
    throw new RangeError(
      `HEADGATE_WORKER_SLOTS is "${written}": write a number of slots from 1 to ${MAX_SLOTS}`,
    );
  }
  return slots;
}
