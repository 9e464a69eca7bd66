/**
 * What the history checker reads and what it says. Everything is plain data: hand-made for tests, or read by
 * `readHistory` and `loadFinalState`. Instants ending in `AtMs` are database time in milliseconds.
 */
import type { RunStatus } from '@headgate/domain';
import type { RecordedEntry } from '@headgate/telemetry';

export const INVARIANTS = [
  'INV-IN1',
  'INV-IN2',
  'INV-IN3',
  'INV-IN4',
  'INV-LE1',
  'INV-LE2',
  'INV-LE3',
  'INV-LE4',
  'INV-LE5',
  'INV-LE6',
  'INV-LE7',
  'INV-LE8',
  'INV-ST1',
  'INV-ST2',
  'INV-ST3',
  'INV-ST4',
  'INV-ST5',
  'INV-ST6',
  'INV-EF1',
  'INV-EF2',
  'INV-EF3',
  'INV-EF4',
  'INV-EF5',
  'INV-HI1',
  'INV-HI2',
  'INV-HI3',
] as const;
export type InvariantId = (typeof INVARIANTS)[number];

export interface RunRow {
  readonly id: string;
  readonly taskId: string;
  readonly receiptId: string;
  readonly generation: number;
  readonly inputVersion: string;
  readonly workKey: string;
  readonly status: RunStatus;
  readonly reasonCode: string | null;
  readonly attemptNo: number;
  readonly failuresLeaseLost: number;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly finishedAtMs: number | null;
  readonly cancelRequestedAtMs: number | null;
  /** What no other run may hold at the same time: its task, and its concurrency key where the limit is 1. */
  readonly exclusiveKeys: readonly string[];
}

export interface AttemptRow {
  readonly id: string;
  readonly runId: string;
  readonly number: number;
  readonly workerId: string;
  readonly leaseId: string;
  /** Decimal text: larger than a double holds. */
  readonly fencingToken: string;
  readonly status: 'running' | 'succeeded' | 'failed' | 'cancelled' | 'lost' | 'released';
  readonly startedAtMs: number;
  readonly finishedAtMs: number | null;
}

export interface LeaseRow {
  readonly runId: string;
  readonly attemptId: string;
  readonly leaseId: string;
  readonly fencingToken: string;
  readonly expiresAtMs: number;
}

export interface QueueItemRow {
  readonly runId: string;
  readonly state: 'delayed' | 'ready' | 'dispatched';
  readonly visibleAtMs: number;
}

export interface RunEventRow {
  readonly id: string;
  /** The transaction that wrote it. */
  readonly xid: string;
  readonly runId: string | null;
  readonly atMs: number;
  readonly type: string;
  readonly from: RunStatus | null;
  readonly to: RunStatus | null;
  readonly reasonCode: string | null;
  readonly attemptNo: number | null;
  readonly fencingToken: string | null;
  readonly leaseId: string | null;
}

export interface ReceiptRow {
  readonly id: string;
  readonly kind: 'decision' | 'closing';
  readonly outcome: string;
  readonly reasonCode: string;
  readonly parentReceiptId: string | null;
  readonly taskId: string | null;
  readonly runId: string | null;
  readonly generation: number | null;
  readonly inputVersion: string | null;
}

export interface DeliveryRow {
  readonly sourceId: string;
  readonly eventId: string;
  readonly receiptId: string;
}

export interface OperationRow {
  readonly key: string;
  readonly runId: string;
  readonly state:
    | 'intended'
    | 'attempted'
    | 'confirmed'
    | 'ambiguous'
    | 'absent'
    | 'conflicted'
    | 'abandoned';
  readonly leaseId: string;
  readonly externalId: string | null;
  readonly intendedAtMs: number;
  readonly attemptedAtMs: number | null;
}

export interface TaskVersionRow {
  readonly taskId: string;
  readonly generation: number;
  readonly inputVersion: string;
  readonly runId: string;
  readonly outcome: RunStatus | null;
}

export interface WorkerRow {
  readonly id: string;
  readonly slots: number;
}

/** One line of the provider's own log: what reached it and what it changed. */
export interface ProviderCall {
  /** Order in the provider's log. */
  readonly seq: number;
  /** CLOCK_MONOTONIC where the provider runs on the same machine. */
  readonly monoNs: string | null;
  readonly kind: string;
  readonly target: string;
  /** Read from the content (marker, trailer), never from a header of ours. */
  readonly operationKey: string | null;
  /** Digest of what was written. */
  readonly content: string;
  /** True when the provider's state changed, whatever it answered. */
  readonly visible: boolean;
  /** For compare-and-set calls: what the caller expected and what stood there. */
  readonly compareAndSet: { readonly expected: string | null; readonly before: string | null } | null;
}

/** The places of all runs at one instant, read in one snapshot. */
export interface Snapshot {
  readonly atMs: number;
  readonly runs: readonly {
    readonly runId: string;
    readonly status: RunStatus;
    readonly reasonCode: string | null;
    readonly hasLease: boolean;
    readonly item: 'delayed' | 'ready' | 'dispatched' | null;
  }[];
}

/** Database rows at the end of the run. */
export interface FinalState {
  readonly nowAtMs: number;
  readonly runs: readonly RunRow[];
  readonly attempts: readonly AttemptRow[];
  readonly leases: readonly LeaseRow[];
  readonly queueItems: readonly QueueItemRow[];
  readonly runEvents: readonly RunEventRow[];
  /** Whether `runEvents` are in the order of their commits, or only of the transactions' numbers. */
  readonly eventOrder: 'commit' | 'xid';
  readonly receipts: readonly ReceiptRow[];
  readonly deliveries: readonly DeliveryRow[];
  readonly operations: readonly OperationRow[];
  readonly taskVersions: readonly TaskVersionRow[];
  readonly workers: readonly WorkerRow[];
}

/** The same workload without faults: what INV-HI1 compares with. Keys are `workId(run)`. */
export interface Baseline {
  readonly statuses: Readonly<Record<string, RunStatus>>;
  /** From admission to the first claim. */
  readonly startDelayMs: Readonly<Record<string, number>>;
}

export interface CheckerInput extends FinalState {
  readonly history: readonly RecordedEntry[];
  readonly providerLog: readonly ProviderCall[];
  readonly transitions: Readonly<Record<RunStatus, readonly RunStatus[]>>;
  readonly snapshots: readonly Snapshot[];
  /** True when the test waited until nothing moved any more. */
  readonly quiescent: boolean;
  readonly baseline: Baseline | null;
}

/** Bounds in force during the run. */
export interface CheckerSettings {
  readonly ttlMs: number;
  readonly stopMarginMs: number;
  readonly reapPeriodMs: number;
  readonly pollIntervalMs: number;
  /** How long an operation may stay ambiguous. */
  readonly ambiguousBoundMs: number;
  /** Added to every bound on durations: scheduling noise and the outages the test caused. */
  readonly slackMs: number;
  /**
   * Two instants of different transactions closer than this prove no order: each is read before its commit.
   */
  readonly clockToleranceMs: number;
}

export type Verdict = 'holds' | 'violated' | 'unknown';

export interface Finding {
  readonly invariant: InvariantId;
  readonly message: string;
  /** The rows and entries that show it. */
  readonly evidence: readonly unknown[];
}

/** What the run contained of what an invariant is about. A zero means: not put to the test. */
export interface Witnessed {
  readonly verdict: Verdict;
  readonly counts: Readonly<Record<string, number>>;
}

export interface CheckReport {
  readonly verdict: Verdict;
  readonly findings: readonly Finding[];
  readonly witnessed: Readonly<Partial<Record<InvariantId, Witnessed>>>;
}

/** What one invariant's check returns. */
export interface Examined {
  readonly violations: readonly { readonly message: string; readonly evidence: readonly unknown[] }[];
  readonly counts: Readonly<Record<string, number>>;
}
