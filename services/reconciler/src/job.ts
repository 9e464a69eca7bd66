/** What a background job of the reconciler is (law 8): declared once, in `catalogue.ts`. */
import type { Admission } from '@headgate/admission';
import type { Dispatcher } from '@headgate/dispatch';
import type { ReasonCode } from '@headgate/domain';
import type { ServiceContext, TickResult } from '@headgate/service';
import type { GithubClient } from '@headgate/sources';
import type { ReconcilerTiming } from './timing.js';

export type Period = 'reap' | 'read' | 'repair' | 'housekeeping';

export interface Job {
  /** Names its loop, its log lines and `headgate.job.failure.count`. */
  readonly name: string;
  /** What is wrong when it acts, for people. */
  readonly repairs: string;
  /** Of the events it leaves; none for a job that repairs nothing. */
  readonly reasonCodes: readonly ReasonCode[];
  readonly period: Period;
  /** Rows of one tick at most. */
  readonly limit: number;
  /** Makes the tick. What a job remembers between ticks (where a walk stands) lives in it, for one reconciler. */
  readonly make: (parts: JobParts) => () => Promise<TickResult>;
}

export interface JobParts {
  readonly context: ServiceContext;
  readonly admission: Admission;
  readonly dispatcher: Dispatcher;
  /** The forge, for what has to be read or told there. */
  readonly github: GithubClient;
  readonly timing: ReconcilerTiming;
  readonly limit: number;
  /** Who repairs, in events: `reconciler`. */
  readonly actor: string;
  readonly report: JobReport;
}

export interface JobReport {
  /** Counts and logs repairs that were committed. */
  repaired(reasonCode: ReasonCode, count: number, detail?: Readonly<Record<string, unknown>>): void;
  /** One row that the database refuses: counted and logged; the others went on. */
  refused(fault: unknown, detail: Readonly<Record<string, unknown>>): void;
}
