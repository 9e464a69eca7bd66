/**
 * What the intake decision reads and writes (law 6, SQL rule 9). `packages/admission` loads the state under
 * the tasks' locks, calls `decideBatch`, and writes what it returns; it decides nothing itself.
 */
import type { DeferredId, ReceiptId, RunId, TaskId } from '../ids.js';
import type { RunStatus } from '../lifecycle.js';
import type { Cause, Chain, Lineage, LoopGuardPolicy, Maker } from '../loop-guard.js';
import type { Outcome } from '../outcome.js';
import type { RoutePolicy, TenantPolicy } from '../policy.js';
import type { ReasonCode } from '../reasons.js';
import type { Signal } from '../signal.js';
import type { VersionPoint } from '../source-order.js';
import type { WorkIdentity } from '../work.js';

/** Why a person or a repair asks again for work that already had a run. */
export type Directive =
  | { readonly kind: 'none' }
  /** A new run of the same version: generation + 1. WORK_IN_PROGRESS while a run lives, unless `cancelLive`. */
  | { readonly kind: 'retry'; readonly cancelLive: boolean }
  /** As retry; also un-cancels the task, clears its latch and starts a new publication. */
  | { readonly kind: 'reset'; readonly cancelLive: boolean };

/**
 * Decided before the state was read: PING, MALFORMED, UNKNOWN_EVENT, NO_ROUTE, NOT_ELIGIBLE, OUT_OF_SCOPE …
 *
 * An accept with APPROVAL_REQUIRED is a condition, not an end: if the state lets the work in, its run is born
 * WAITING_APPROVAL instead of QUEUED.
 */
export interface Verdict {
  readonly outcome: Outcome;
  readonly reasonCode: ReasonCode;
  /** Completes the catalogue's sentence with what was seen; null = the sentence stands alone. */
  readonly detail: string | null;
  readonly retryAfter: Date | null;
  /** The rule that decided, for *why*; by default derived from the reason code. */
  readonly rule?: string;
}

/** A signal that is ready to be decided: routed and identified, with the ids it will use if it is accepted. */
export interface Candidate {
  readonly receiptId: ReceiptId;
  /** Used only if a run is made. Drawn before the transaction, so that a retry finds the same rows. */
  readonly runId: RunId;
  /** Used only if the task is new. */
  readonly taskId: TaskId;
  /** Used only if it has to wait. */
  readonly deferredId: DeferredId;
  readonly signal: Signal;
  readonly tenant: TenantPolicy;
  readonly route: RoutePolicy | null;
  readonly work: WorkIdentity | null;
  /** Decided without state; null = the state decides. */
  readonly verdict: Verdict | null;
  readonly directive: Directive;
  /** Set when a deferred signal or a latch is promoted: its delivery row is its own, not a duplicate. */
  readonly parentReceiptId: ReceiptId | null;
  /** Promoted from a delivery that only woke: it was read at its source since, and is heard here for the first time. */
  readonly isWoken?: boolean;
  /** One more route that takes the signal of the candidate before it: the delivery is that one's, not a duplicate. */
  readonly isFurtherRoute: boolean;
  /** It waited for more signals already, and does not wait for them again. */
  readonly isDebounced: boolean;
  /** Identity of the repository, by which its open pull requests are counted; null = it has none. */
  readonly repository: string | null;
  /** What the signal is in a chain of causes; null or absent: nothing guards it. */
  readonly cause?: Cause | null;
  /** By default DEFAULT_LOOP_GUARD. */
  readonly guard?: LoopGuardPolicy;
  /** The event id under which every delivery of what it tells is known, by hook or scan; null or absent: only its own. */
  readonly heardAs?: string | null;
  /** Where a person asked for this; null: nobody did, or where nothing can be answered. */
  readonly asked?: AskedAt | null;
}

/** A comment that holds a command: heard once, and where a refusal is told, once. */
export interface AskedAt {
  readonly source: string;
  readonly repository: string;
  /** Of the issue or pull request. */
  readonly number: string;
  readonly commentId: string;
}

/** The same comment may come by several hooks: it is remembered under this event id beside each delivery's own. */
export const askedEventId = ({ repository, commentId }: AskedAt): string =>
  `asked/${repository.toLowerCase()}/${commentId}`;

export interface FirstDelivery {
  readonly receiptId: ReceiptId;
  readonly runId: RunId | null;
  readonly taskId: TaskId | null;
}

export interface LiveRun extends VersionPoint {
  readonly runId: RunId;
  readonly generation: number;
  readonly status: RunStatus;
}

export interface KnownVersion {
  readonly runId: RunId;
  readonly generation: number;
  /** null while the run lives. */
  readonly outcome: RunStatus | null;
}

export interface Latch extends VersionPoint {
  readonly receiptId: ReceiptId;
}

/** A version that waits for more signals of the same work. */
export interface WaitingVersion extends VersionPoint {
  readonly deferredId: DeferredId;
  readonly receiptId: ReceiptId;
  readonly route: string;
  /** When the first of its signals was decided: the bound counts from here. */
  readonly since: Date;
}

/** A task as it stands under its lock. */
export interface TaskState {
  readonly taskId: TaskId;
  readonly generation: number;
  readonly publication: number;
  readonly cancelled: boolean;
  /** The newest version ever admitted, by source order. */
  readonly latest: VersionPoint | null;
  readonly latch: Latch | null;
  readonly debounced: readonly WaitingVersion[];
  /** A pull request (or a published branch) of it is open. */
  readonly hasOpenPublication: boolean;
  /** Non-terminal runs, oldest first. */
  readonly live: readonly LiveRun[];
  /** By input version: the newest generation's row. Holds the versions asked for in the batch and all live ones. */
  readonly versions: ReadonlyMap<string, KnownVersion>;
  /** Its newest run's place in its chain of causes; null or absent: it has none, or it was not asked for. */
  readonly chain?: Chain | null;
}

/** What the loop guard looks at; only what the batch's causes ask for needs an entry. */
export interface GuardState {
  /** By `versionKey(tenant, version)`: the run of ours that made the version. */
  readonly makers: ReadonlyMap<string, Maker>;
  /** By `subjectKey(tenant, subject)`: when a person last acted there. */
  readonly touched: ReadonlyMap<string, Date>;
  /** By `rateKey(tenant, kind, subject)`: runs that began within the window of the policy. */
  readonly started: ReadonlyMap<string, number>;
}

/** What stood in the database when the tasks were locked. */
export interface AdmissionState {
  /** By `deliveryKey(signal)`: deliveries seen before this batch. */
  readonly deliveries: ReadonlyMap<string, FirstDelivery>;
  /** By `taskKey(tenant, workKey)`: every task of the batch, new ones included (generation 1, nothing live). */
  readonly tasks: ReadonlyMap<string, TaskState>;
  /**
   * Runs per tenant that wait for capacity (`countsAsQueued`: they hold a queue item, or rest ADMITTED; a run
   * that waits for a person does not count). Only tenants with a maxQueued need an entry; none = 0.
   */
  readonly queuedByTenant: ReadonlyMap<string, number>;
  /**
   * By `Candidate.repository`: its tasks that have an open pull request of ours or a run that may make one. Only
   * those of routes with a limit need an entry; none = 0.
   */
  readonly openByRepository: ReadonlyMap<string, number>;
  /** By default nothing of ours lies before any signal. */
  readonly guard?: GuardState;
  /** Database time. */
  readonly now: Date;
}

export type AdmissionWrite =
  | {
      readonly kind: 'admit';
      readonly runId: RunId;
      readonly taskId: TaskId;
      readonly generation: number;
      readonly publication: number;
      readonly candidate: Candidate;
      readonly status: 'QUEUED' | 'WAITING_APPROVAL';
      readonly lineage: Lineage;
    }
  /** The trigger is kept on the task; `runId` is the run it led to or met. */
  | {
      readonly kind: 'attach';
      readonly taskId: TaskId;
      readonly receiptId: ReceiptId;
      readonly runId: RunId | null;
    }
  /** Without a lease: SUPERSEDED. With one: CANCEL_REQUESTED with reason SUPERSEDED, except in FINALIZING. */
  | { readonly kind: 'supersede'; readonly runId: RunId; readonly taskId: TaskId; readonly by: RunId }
  /** A person wants the live run gone before the retry. */
  | {
      readonly kind: 'cancel';
      readonly runId: RunId;
      readonly taskId: TaskId;
      readonly reasonCode: ReasonCode;
    }
  | {
      readonly kind: 'latch';
      readonly taskId: TaskId;
      readonly latch: Latch | null;
      readonly candidate: Candidate | null;
    }
  /** The candidate waits until `dueAt` for more signals of its work, in the place of the one named. */
  | {
      readonly kind: 'debounce';
      readonly taskId: TaskId;
      readonly candidate: Candidate;
      readonly since: Date;
      readonly dueAt: Date;
      readonly replaces: DeferredId | null;
    }
  | {
      readonly kind: 'latest';
      readonly taskId: TaskId;
      readonly inputVersion: string;
      readonly sourceAt: Date | null;
      readonly parentVersions: readonly string[];
    }
  | {
      readonly kind: 'task';
      readonly taskId: TaskId;
      readonly generation: number;
      readonly publication: number;
      readonly cancelled: boolean;
    }
  | {
      readonly kind: 'defer';
      readonly candidate: Candidate;
      readonly dueAt: Date;
      readonly reasonCode: ReasonCode;
    }
  /** A person acted here: chains begin anew. */
  | { readonly kind: 'touch'; readonly candidate: Candidate }
  /** What a person asked for was refused: told where they asked. */
  | {
      readonly kind: 'feedback';
      readonly candidate: Candidate;
      readonly at: AskedAt;
      readonly reasonCode: ReasonCode;
      readonly message: string;
    };

export interface Decision {
  readonly candidate: Candidate;
  readonly outcome: Outcome;
  readonly reasonCode: ReasonCode;
  /** The catalogue's sentence, or a more exact one. */
  readonly message: string;
  /** The rule that decided, for *why*: `delivery-dedupe`, `work-dedupe`, `onNewVersion.cancelOther`, `route.when` … */
  readonly rule: string;
  readonly runId: RunId | null;
  readonly taskId: TaskId | null;
  readonly generation: number | null;
  readonly existing: boolean;
  readonly retryAfter: Date | null;
  readonly writes: readonly AdmissionWrite[];
}
