import type {
  Mode,
  OperationKind,
  OperationState,
  PublicStatus,
  ReasonCode,
  RunStatus,
} from '@headgate/domain';
import type { Approval, RunAction } from './approval.js';
import type { Feedback } from './receipt.js';
import type { Instant, PageQuery, TimeQuery } from './shared.js';

/** Why a run waits now, and what would let it start. */
export interface Waiting {
  readonly reasonCode: ReasonCode;
  readonly message: string;
  readonly since: Instant;
  /** When it starts or is looked at again by itself; null = not by time. */
  readonly until: Instant | null;
  /** What was counted: `{ held: 2, limit: 2, ahead: 3 }`. */
  readonly numbers: Record<string, number>;
  readonly wouldStartWhen: string;
}

/** Limits as of admission. */
export interface RunLimitsAnswer {
  readonly wallClockMs: number;
  readonly sandboxStartMs: number;
  readonly silenceMs: number;
  readonly verifyMs: number;
  readonly finalizeMs: number;
  readonly outputBytes: number;
  readonly changedFiles: number;
  readonly diffLines: number;
  readonly costUsd: number | null;
}

export interface RunCost {
  readonly estimatedUsd: number | null;
  readonly actualUsd: number;
  readonly maxUsd: number | null;
  readonly exceededAt: Instant | null;
}

/** One controlled execution of one version of a task. */
export interface Run {
  readonly id: string;
  readonly taskId: string;
  readonly receiptId: string;
  readonly tenant: string;
  readonly route: string;
  readonly repository: string | null;
  readonly agent: string;
  readonly mode: Mode;
  /** An observation looks for a goal: no agent, no result, no cost. */
  readonly kind: 'work' | 'observation';
  readonly workKey: string;
  readonly inputVersion: string;
  readonly generation: number;
  readonly status: RunStatus;
  readonly publicStatus: PublicStatus;
  readonly reasonCode: ReasonCode | null;
  readonly statusAt: Instant;
  readonly createdAt: Instant;
  readonly startedAt: Instant | null;
  readonly finishedAt: Instant | null;
  /** The newest attempt's number; 0 before the first. */
  readonly attempt: number;
  readonly branch: string | null;
  readonly queue: string;
  /** Seconds of head start. */
  readonly priority: number;
  readonly concurrencyKey: string | null;
  readonly policyVersion: number;
  readonly limits: RunLimitsAnswer;
  readonly cost: RunCost;
  /** Null unless publicStatus is waiting. */
  readonly waiting: Waiting | null;
}

export type AttemptStatusAnswer = 'running' | 'succeeded' | 'failed' | 'cancelled' | 'lost' | 'released';

export interface RunAttempt {
  readonly id: string;
  readonly number: number;
  readonly workerId: string;
  readonly leaseId: string;
  readonly fencingToken: string;
  readonly status: AttemptStatusAnswer;
  readonly reasonCode: ReasonCode | null;
  readonly detail: string | null;
  readonly startedAt: Instant;
  readonly finishedAt: Instant | null;
  readonly costUsd: number;
  readonly lease: AttemptLease;
  /** What was kept of it, bounded: commands with their outcome and the end of their output, changed files. */
  readonly evidence: unknown;
}

/** How an attempt held its right to act. */
export interface AttemptLease {
  readonly acquiredAt: Instant;
  /** When the right would have ended, as last renewed; null: not known of an old attempt. */
  readonly expiresAt: Instant | null;
  /** The last heartbeat that renewed it; null: none did. */
  readonly renewedAt: Instant | null;
  /** Mean distance of the renewals: heartbeats leave no row each. Null before the first. */
  readonly beatMs: number | null;
  /** Null: not known of an old attempt. */
  readonly renewals: number | null;
  /** When its holder gave it back; null: it did not. */
  readonly releasedAt: Instant | null;
  /** When the reaper took it; null: it did not. */
  readonly lostAt: Instant | null;
}

/** One side effect: first intended, then called, then known to have happened or not. */
export interface RunOperation {
  readonly key: string;
  readonly kind: OperationKind;
  readonly status: OperationState;
  readonly externalId: string | null;
  readonly url: string | null;
  readonly tries: number;
  readonly detail: string | null;
  readonly intendedAt: Instant;
  readonly attemptedAt: Instant | null;
  /** When its outcome was known. */
  readonly settledAt: Instant | null;
}

/** The right to act now. */
export interface RunLease {
  readonly acquiredAt: Instant;
  /** Grows with each heartbeat. */
  readonly expiresAt: Instant;
  /** Heartbeats renew it no further than this. */
  readonly renewUntil: Instant;
}

/** Summed over the attempts that reported it. */
export interface RunUsage {
  readonly models: string[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly toolMs: number;
  readonly cpuMs: number;
  readonly artifactBytes: number;
  readonly providerCalls: number;
  readonly costUsd: number;
  /** The dearest first; null: the attempt named no model. */
  readonly byModel: {
    readonly model: string | null;
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly costUsd: number;
  }[];
}

export interface RunEvent {
  readonly id: string;
  readonly at: Instant;
  readonly type: string;
  readonly from: RunStatus | null;
  readonly to: RunStatus | null;
  readonly reasonCode: ReasonCode | null;
  readonly actor: string | null;
  readonly attempt: number | null;
  /** A whole number in decimal. */
  readonly fencingToken: string | null;
}

export interface RunDetail extends Run {
  /** What its reasonCode means, and what was said of it. Null: it has none. */
  readonly reasonMessage: string | null;
  /** What can be done with it now. */
  readonly actions: RunAction[];
  /** Null: no person was ever asked about it. */
  readonly approval: Approval | null;
  /** Null: no worker holds it. */
  readonly lease: RunLease | null;
  readonly attempts: RunAttempt[];
  readonly operations: RunOperation[];
  /** Null: no attempt has reported any. */
  readonly usage: RunUsage | null;
  /** Oldest first. */
  readonly events: RunEvent[];
  /** Its place in a chain of our own runs: what the loop guard counts. */
  readonly lineage: RunLineage;
  /** SHA-256 of the prompt as the agent is given it; null: it has none, or was admitted before it was noted. */
  readonly promptDigest: string | null;
  /** What who asked for it was told; null: nobody is told. */
  readonly feedback: Feedback | null;
}

export interface RunLineage {
  /** Confirmed pushes of ours between the root of its chain and it. */
  readonly hops: number;
  /** Runs of its task since a person, or a version that is not ours, began the chain; it included. */
  readonly chainRuns: number;
  /** Where its chain began. */
  readonly rootReceiptId: string;
}

export interface RunQuery extends PageQuery, TimeQuery {
  readonly status?: RunStatus;
  readonly publicStatus?: PublicStatus;
  readonly route?: string;
  /** `owner/name`. */
  readonly repository?: string;
  readonly tenant?: string;
  readonly workKey?: string;
  readonly taskId?: string;
  /** Runs that wait, and wait for this reason now; `READY`: only for their turn. */
  readonly waitingReason?: ReasonCode;
  /** These runs, at most 200, separated by commas. */
  readonly ids?: string;
}

/** What a run sealed before its first side effect. */
export interface RunResult {
  readonly runId: string;
  readonly verdict: 'changes' | 'no-change';
  readonly baseVersion: string;
  readonly commitSha: string | null;
  /** Of the bundle that holds the commit. */
  readonly bytes: number;
  /** Of the bundle, in hex: what an approval is bound to. */
  readonly sha256: string;
  readonly sealedAt: Instant;
  /** The agent's words. */
  readonly summary: string | null;
  /** What the route's verification said; null: there was nothing to verify. */
  readonly verification: unknown;
  /** The unified diff, of the attempt that sealed; null: it lies on no disk that is known here. */
  readonly patch: Artifact | null;
}

/** What an attempt left on disk. */
export interface Artifact {
  readonly id: string;
  readonly runId: string;
  readonly attempt: number;
  readonly name: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  readonly mediaType: string;
  readonly createdAt: Instant;
  /** Path of its content. */
  readonly url: string;
}
