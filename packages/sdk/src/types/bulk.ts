/** One act on many runs: first shown, then done to exactly what was shown. */
import type { RunStatus } from '@headgate/domain';
import type { RunQuery } from './run.js';

/** At least one of them. */
export type BulkFilter = Pick<
  RunQuery,
  | 'status'
  | 'publicStatus'
  | 'route'
  | 'repository'
  | 'tenant'
  | 'workKey'
  | 'taskId'
  | 'ids'
  | 'since'
  | 'until'
>;

export interface BulkRequest {
  /** `replay`: as *retry*, for runs that have ended. */
  readonly action: 'cancel' | 'replay';
  readonly filter: BulkFilter;
  /** True: only say what would be done, and give the token for it. */
  readonly dryRun: boolean;
  /** Of the dry run; needed to really do it. */
  readonly token?: string;
  /** Kept in the record of each run. */
  readonly reason?: string;
}

/** `requested`: a worker was asked to stop. `skipped`: it is not what the dry run saw any more. */
export type BulkOutcome = 'possible' | 'done' | 'requested' | 'skipped' | 'refused';

export interface BulkRun {
  readonly runId: string;
  /** Null: it does not match any more. */
  readonly status: RunStatus | null;
  readonly outcome: BulkOutcome;
  /** Of a replay. */
  readonly newRunId: string | null;
  /** Why not, where it was skipped or refused. */
  readonly code: string | null;
  readonly detail: string | null;
}

export interface BulkAnswer {
  readonly action: 'cancel' | 'replay';
  readonly dryRun: boolean;
  /** Runs that would be acted on; really, those that were. */
  readonly count: number;
  /** More runs match than are shown here: at most 200 at a time, the newest first. */
  readonly more: boolean;
  /** Null when it was really done. */
  readonly token: string | null;
  readonly runs: BulkRun[];
}
