/** What holds when the file says nothing. A real forge is treated more carefully than a local repository. */
import type { RateLimit, RetryPolicy, RunLimits } from '@headgate/domain';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
export const DAY_MS = 24 * 60 * MINUTE_MS;

export const DEFAULT_TENANT = 'default';
export const DEFAULT_QUEUE = 'default';

/** GitHub redelivers for about three days; a person may find out a little later. */
export const DEFAULT_DEDUPE_MS = 7 * DAY_MS;

export const DEFAULT_RUN_LIMITS: Omit<RunLimits, 'costUsd'> = {
  wallClockMs: 30 * MINUTE_MS,
  sandboxStartMs: 2 * MINUTE_MS,
  silenceMs: 10 * MINUTE_MS,
  verifyMs: 10 * MINUTE_MS,
  finalizeMs: 5 * MINUTE_MS,
  outputBytes: 16 * 1024 * 1024,
  changedFiles: 200,
  diffLines: 10_000,
};

/** A run on a real forge costs at most this; a day has no default. */
export const REAL_FORGE_RUN_USD = 3;
export const REAL_FORGE_ATTEMPTS = 2;
/** People have to read them. */
export const REAL_FORGE_OPEN_PULL_REQUESTS = 3;

/** A signal waits for more at most so many times the quiet time, unless the route says otherwise. */
export const DEBOUNCE_BOUND = 5;
/** More runs than this on one target or by one person in an hour is a loop or an accident. */
export const REAL_FORGE_RUNS_PER_TARGET: RateLimit = { limit: 20, windowMs: 3_600_000 };
export const REAL_FORGE_RUNS_PER_ACTOR: RateLimit = { limit: 100, windowMs: 3_600_000 };

export const DEFAULT_RETRY: RetryPolicy = {
  maxAttempts: 3,
  maxInfrastructure: 5,
  maxLeaseLost: 3,
  backoffMs: [30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS],
};

export const DEFAULT_CATCH_UP = { mode: 'latest', windowMs: DAY_MS } as const;
export const DEFAULT_CATCH_UP_MAX = { none: 0, latest: 1, all: 10 };

/** A goal is bounded in every way but money, whatever its file leaves out. */
export const DEFAULT_GOAL_STOP = { maxRuns: 5, deadlineMs: 7 * DAY_MS, noProgress: 3 };
export const DEFAULT_GOAL_CADENCE = '@every 10m';
export const DEFAULT_OBSERVATION_MS = 5 * MINUTE_MS;

/** Seconds in front of the queue. */
export const HEAD_START_SECONDS = { urgent: 4 * 3600, high: 3600, normal: 0, low: -3600 };

/** A source that is polled is looked at this often. */
export const DEFAULT_POLL_MS = 30_000;
/** A source with a hook is looked at this often, for what the hook did not bring. */
export const DEFAULT_SCAN_MS = 300_000;
/** Tries of the forge's redelivery for one failed delivery. */
export const DEFAULT_REDELIVERIES = 3;
/** How far a signed time may be from ours. */
export const DEFAULT_TOLERANCE_MS = 300_000;
