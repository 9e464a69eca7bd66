/** What the worker's main thread and its keeper thread say to each other. Plain data: it is cloned on its way. */
import type { LeaseTiming, RunId, WorkerId } from '@headgate/domain';
import type { SandboxIdentity } from '@headgate/runtimes';
import type { BeatAnswer, Fence, LeaseControl } from '@headgate/store';

export interface KeeperData {
  readonly serviceUrl: string;
  readonly poolMode: 'session' | 'transaction';
  readonly timing: LeaseTiming;
  /** One BigInt64: when the main loop last turned, in nanoseconds of the monotonic clock. */
  readonly mainTurn: SharedArrayBuffer;
}

export type ToKeeper =
  | { readonly kind: 'worker'; readonly workerId: WorkerId | null }
  | { readonly kind: 'timing'; readonly timing: LeaseTiming }
  | { readonly kind: 'hold'; readonly fence: Fence; readonly trustedUntilMs: number }
  | { readonly kind: 'drop'; readonly leaseId: string }
  /** The sandbox that goes with the lease; null: it is gone. */
  | { readonly kind: 'sandbox'; readonly leaseId: string; readonly identity: SandboxIdentity | null }
  /** Renew it no more: its agent could not be seen to stop. */
  | { readonly kind: 'let-run-out'; readonly leaseId: string }
  | { readonly kind: 'beat-now' }
  | { readonly kind: 'sync'; readonly id: number }
  | { readonly kind: 'stop' };

/** What happened to one lease. Instants are monotonic milliseconds, the same in all threads of a process. */
export type LeaseNews =
  | { readonly kind: 'renewed'; readonly leaseId: string; readonly trustedUntilMs: number }
  | { readonly kind: 'control'; readonly leaseId: string; readonly control: LeaseControl }
  /** The row stands and its time is over: nothing may start until a later renewal succeeds. */
  | { readonly kind: 'suspended'; readonly leaseId: string }
  | { readonly kind: 'ended'; readonly leaseId: string; readonly runId: RunId; readonly why: LeaseEnd };

/** lost: another has it, or nobody. trust-lost: it could not be renewed in time. */
export type LeaseEnd = 'lost' | 'trust-lost';

export type FromKeeper =
  | { readonly kind: 'ready' }
  | { readonly kind: 'news'; readonly news: readonly LeaseNews[] }
  | {
      readonly kind: 'beat';
      readonly answers: Readonly<Partial<Record<BeatAnswer | 'error', number>>>;
      /** READY, DRAINING, STARTING, or UNKNOWN: the row is gone, stopped or declared dead. Null after a fault. */
      readonly workerState: string | null;
      /** Whose row that was. */
      readonly workerId: WorkerId | null;
      readonly tookMs: number;
      readonly fault: string | null;
    }
  | { readonly kind: 'main-silent'; readonly silentMs: number }
  | { readonly kind: 'synced'; readonly id: number };
