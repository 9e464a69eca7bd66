import type { OverlapPolicy, ReasonCode } from '@headgate/domain';
import type { Instant } from './shared.js';

/** Whose nominal time it is: the timer's, a person's "run now", or a back-fill's. */
export type TickOriginAnswer = 'timer' | 'trigger' | 'backfill';

/** Each nominal time of an origin is in exactly one. */
export type TickBucketAnswer =
  | 'fired'
  /** Admitted, and waits until the run before it has ended. */
  | 'buffered'
  /** By the overlap rule. */
  | 'skipped'
  /** Nothing ticked in time, or its source could not be read. */
  | 'missed'
  /** A day that the schedule leaves out. */
  | 'excluded'
  | 'paused'
  /** The schedule was changed before it was settled. */
  | 'discarded';

export interface ScheduleTick {
  readonly origin: TickOriginAnswer;
  readonly nominalAt: Instant;
  /** Of a range of ticks, the last one; else the same. */
  readonly untilAt: Instant;
  readonly count: number;
  /** The repository it was for; '' = all of them, or none. */
  readonly target: string;
  readonly bucket: TickBucketAnswer;
  readonly reasonCode: ReasonCode;
  readonly receiptId: string | null;
  readonly runId: string | null;
}

export interface ScheduleCount {
  readonly origin: TickOriginAnswer;
  readonly bucket: TickBucketAnswer;
  /** Nominal times; what was decided per repository counts once for each. */
  readonly total: number;
}

export interface Schedule {
  readonly id: string;
  readonly tenant: string;
  readonly route: string;
  readonly ordinal: number;
  readonly cron: string;
  readonly timezone: string;
  readonly startAt: Instant | null;
  readonly endAt: Instant | null;
  readonly exclude: string[];
  readonly jitterMs: number;
  readonly overlap: OverlapPolicy;
  readonly catchUp: {
    readonly mode: 'none' | 'latest' | 'all';
    readonly windowMs: number;
    readonly max: number;
  };
  readonly pauseOnFailure: boolean;
  readonly state: 'active' | 'paused';
  readonly note: string | null;
  readonly pausedAt: Instant | null;
  readonly pausedBy: string | null;
  readonly lastNominalAt: Instant | null;
  /** When the next tick fires, jitter included; null while it is paused, and after its end. */
  readonly nextAt: Instant | null;
  /** The 10 newest ticks, newest first. */
  readonly recent: ScheduleTick[];
  /** The next 10 nominal times. */
  readonly next: Instant[];
  readonly counts: ScheduleCount[];
}

/** A "run now" or a back-fill, and how far a ticker is with it. */
export interface ScheduleRequest {
  readonly id: string;
  readonly scheduleId: string;
  readonly kind: 'trigger' | 'backfill';
  /** Instead of the schedule's own rule. */
  readonly overlap: OverlapPolicy | null;
  readonly fromAt: Instant;
  readonly untilAt: Instant;
  readonly state: 'pending' | 'done' | 'refused';
  readonly detail: string | null;
  /** Ticks settled so far. */
  readonly ticks: number;
  readonly reason: string | null;
  readonly requestedBy: string;
  readonly requestedAt: Instant;
  readonly finishedAt: Instant | null;
}

export interface ScheduleDetail extends Schedule {
  /** Runs of its newest ticks that have not ended. */
  readonly running: string[];
  /** The 10 newest, newest first. */
  readonly requests: ScheduleRequest[];
}

export interface PauseRequest {
  /** Shown until it is resumed. */
  readonly note?: string;
}

export interface TriggerScheduleRequest {
  readonly overlap?: OverlapPolicy;
  readonly reason?: string;
}

export interface BackfillRequest {
  /** Nominal times, both included. */
  readonly from: Instant;
  readonly until: Instant;
  readonly overlap?: OverlapPolicy;
  readonly reason?: string;
  /** Only says which times it would run. */
  readonly dryRun?: boolean;
}

export interface Backfill {
  readonly dryRun: boolean;
  /** Nominal times of the span, without excluded days. */
  readonly times: number;
  /** Of these, fired before: they are left alone. */
  readonly alreadyFired: number;
  /** The first ones that it runs. */
  readonly first: Instant[];
  /** Null: a dry run. */
  readonly request: ScheduleRequest | null;
}
