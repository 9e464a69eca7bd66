/** What an operator looks at besides runs: workers, queues, dead letters. */
import type { ReasonCode, Risk } from '@headgate/domain';
import type { AboutRun, Instant, PageQuery } from './shared.js';

export type WorkerStateAnswer = 'STARTING' | 'READY' | 'DRAINING' | 'STOPPED' | 'DEAD';

export interface Worker {
  readonly id: string;
  readonly name: string;
  readonly state: WorkerStateAnswer;
  /** READY, and its heartbeat is younger than its lease's time to live. */
  readonly isLive: boolean;
  readonly capabilities: Record<string, string | number | boolean | string[]>;
  readonly queues: string[];
  readonly slots: number;
  /** Leases it holds, of those the caller may see. */
  readonly held: number;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly registeredAt: Instant;
  readonly heartbeatAt: Instant;
  readonly stoppedAt: Instant | null;
}

export interface WorkerQuery extends PageQuery {
  readonly state?: WorkerStateAnswer;
}

export interface Queue {
  readonly id: string;
  readonly risk: Risk[];
  readonly ready: number;
  /** In back-off, or deferred. */
  readonly delayed: number;
  readonly dispatched: number;
  readonly running: number;
  /** Since when the oldest ready run has been in the queue. */
  readonly oldestReadyAt: Instant | null;
  readonly liveWorkers: number;
  readonly slots: number;
  /** Hints in Redis; null without Redis, and for a token that is bound to a tenant. */
  readonly hints: { readonly waiting: number; readonly active: number; readonly foreign: number } | null;
}

/** How a repository, or the log of a hook, was last looked at. */
export interface SourceStanding {
  readonly tenant: string;
  readonly source: string;
  /** As the configuration names it; `hook of …` for the log of a hook. */
  readonly repository: string;
  readonly outcome: 'never' | 'looked' | 'denied' | 'limited' | 'unavailable';
  /** What was not seen, and why. */
  readonly detail: string | null;
  readonly failures: number;
  /** The last look that saw all there was to see. */
  readonly lookedAt: Instant | null;
  readonly nextAt: Instant;
  /** Since when the scan finds what the hook did not bring (SOURCE_SILENT). */
  readonly silentSince: Instant | null;
  readonly silentCount: number;
}

export interface DeadLetter extends AboutRun {
  readonly id: string;
  readonly reasonCode: ReasonCode;
  readonly message: string;
  readonly owner: string | null;
  readonly evidence: unknown;
  readonly createdAt: Instant;
  readonly resolvedAt: Instant | null;
  readonly resolvedBy: string | null;
}

export interface DeadLetterQuery extends PageQuery {
  readonly resolved?: boolean;
}
