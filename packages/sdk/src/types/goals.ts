import type { ReasonCode } from '@headgate/domain';
import type { Instant } from './shared.js';

export type GoalStateAnswer = 'active' | 'paused' | 'done' | 'given-up';

export interface Observation {
  readonly id: string;
  /** Grows with each reset of the goal. */
  readonly epoch: number;
  readonly number: number;
  /** holds: the condition is met. open: it is not. unknown: it could not be told. */
  readonly outcome: 'holds' | 'open' | 'unknown';
  /** Branch and commit that were looked at. */
  readonly ref: string | null;
  readonly version: string | null;
  /** What was seen; null = nothing. */
  readonly result: unknown;
  readonly detail: string | null;
  readonly observedAt: Instant;
  readonly runId: string;
  readonly receiptId: string | null;
}

export interface Goal {
  readonly id: string;
  readonly tenant: string;
  readonly route: string;
  readonly ordinal: number;
  readonly repository: string;
  readonly until: string;
  readonly observe: 'command' | 'http';
  readonly cadence: string;
  readonly timezone: string;
  readonly stop: {
    readonly maxRuns: number;
    readonly deadlineMs: number;
    readonly noProgress: number;
    readonly maxCostUsd: number | null;
  };
  readonly state: GoalStateAnswer;
  readonly stateAt: Instant;
  readonly stateBy: string | null;
  readonly reasonCode: ReasonCode | null;
  readonly note: string | null;
  /** Of its end. */
  readonly receiptId: string | null;
  /** What is under way: an observation, or the agent. */
  readonly phase: 'idle' | 'observing' | 'working';
  readonly runId: string | null;
  readonly epoch: number;
  readonly startedAt: Instant;
  readonly deadlineAt: Instant;
  readonly nextAt: Instant | null;
  readonly observations: number;
  readonly runs: number;
  readonly costUsd: number;
  readonly noProgress: number;
  readonly unknowns: number;
}

export interface GoalDetail extends Goal {
  /** The 20 newest, newest first. */
  readonly recent: Observation[];
}

export interface ResetGoalRequest {
  readonly reason?: string;
}
