/** What holds when the file says nothing. A real forge is treated more carefully than a local repository. */
import type { RetryPolicy, RunLimits } from '@headgate/domain';

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

export const DEFAULT_RETRY: RetryPolicy = {
  maxAttempts: 3,
  maxInfrastructure: 5,
  maxLeaseLost: 3,
  backoffMs: [30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS],
};

export const DEFAULT_RETENTION_DAYS = { receipts: 90, payloads: 14, events: 90 };

export const DEFAULT_CATCH_UP = { mode: 'latest', windowMs: DAY_MS } as const;
export const DEFAULT_CATCH_UP_MAX = { none: 0, latest: 1, all: 10 };

/** Never in a result, whatever the route says: CI and the configuration of agents are code that runs later. */
export const PROTECTED_PATHS: readonly string[] = [
  '.github/**',
  '.headgate.yaml',
  '**/CLAUDE.md',
  '**/AGENTS.md',
  '.claude/**',
  '.codex/**',
  '.mcp.json',
];

/** Seconds in front of the queue. */
export const HEAD_START_SECONDS = { urgent: 4 * 3600, high: 3600, normal: 0, low: -3600 };
