/** What every answer of the API is made of. Fields are always present; null = unknown. */
import type { ReasonCode } from '@headgate/domain';

/** RFC 3339, UTC, with milliseconds: `2026-01-31T13:50:01.123Z`. */
export type Instant = string;

/** One page of a list, newest first. A short page may have a next one: `nextCursor` alone says whether it ends. */
export interface Page<Item> {
  readonly items: Item[];
  /** Opaque; give it back as `?cursor=`. Null: the end. */
  readonly nextCursor: string | null;
}

export interface PageQuery {
  /** 1 to 200; 50 by default. */
  readonly limit?: number;
  readonly cursor?: string;
}

/** Created at or after `since`, and before `until`. */
export interface TimeQuery {
  readonly since?: Instant;
  readonly until?: Instant;
}

/** The run that something is about, as lists name it. */
export interface AboutRun {
  readonly runId: string;
  readonly taskId: string;
  readonly tenant: string;
  readonly route: string;
  readonly repository: string | null;
  readonly workKey: string;
}

/** RFC 9457 problem details. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** Says what to do. */
  readonly detail: string;
  /** Stable: a reason code, or an HTTP-level one (NOT_FOUND, UNAUTHORIZED, BAD_REQUEST …). */
  readonly code: string;
  readonly receiptId: string | null;
}

/** What a signal was answered with. `existing`: runId names a run that was there before. */
export interface SignalAnswer {
  readonly receiptId: string;
  readonly outcome: 'accept' | 'defer' | 'reject' | 'no-work';
  readonly reasonCode: ReasonCode;
  readonly message: string;
  readonly runId: string | null;
  readonly taskId: string | null;
  readonly existing: boolean;
  readonly retryAfter: Instant | null;
}
