import type { Outcome, PublicStatus, ReasonCode, RunStatus } from '@headgate/domain';
import type { Run } from './run.js';
import type { Instant, PageQuery, TimeQuery } from './shared.js';

/** What is asked for: the work key. */
export interface Task {
  readonly id: string;
  readonly tenant: string;
  readonly workKey: string;
  /** Grows with each retry, replay and reset. */
  readonly generation: number;
  /** Grows only with a reset: a new publication opens a new pull request. */
  readonly publication: number;
  readonly latestVersion: string | null;
  /** The version that waits behind a live run. */
  readonly nextVersion: string | null;
  readonly nextReceiptId: string | null;
  readonly cancelledAt: Instant | null;
  readonly cancelledBy: string | null;
  readonly createdAt: Instant;
  readonly latestRun: {
    readonly id: string;
    readonly status: RunStatus;
    readonly publicStatus: PublicStatus;
  } | null;
}

/** A trigger that was kept on the task. */
export interface TaskSignal {
  readonly receiptId: string;
  readonly runId: string | null;
  readonly source: string;
  readonly type: string;
  readonly outcome: Outcome;
  readonly reasonCode: ReasonCode;
  readonly at: Instant;
}

export interface TaskDetail extends Task {
  /** The newest 50. */
  readonly runs: Run[];
  /** The newest 100. */
  readonly signals: TaskSignal[];
}

export interface TaskQuery extends PageQuery, TimeQuery {
  readonly workKey?: string;
}
