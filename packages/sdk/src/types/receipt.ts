import type { Outcome, ReasonCode, TriggerFamily, Via } from '@headgate/domain';
import type { Instant, PageQuery, TimeQuery } from './shared.js';

/** The answer to one signal, with its whole identity bundle: delivery, domain, execution, mutation. */
export interface Receipt {
  readonly id: string;
  readonly kind: 'decision' | 'closing';
  readonly outcome: Outcome;
  readonly reasonCode: ReasonCode;
  readonly message: string;
  /** The rule that decided: `route.when`, `work-dedupe`, `onNewVersion.cancelOther` … */
  readonly rule: string;
  readonly trigger: TriggerFamily;
  readonly via: Via;
  readonly tenant: string;
  readonly route: string | null;
  readonly existing: boolean;
  readonly retryAfter: Instant | null;
  readonly watermark: string | null;
  /** Of a promotion the one that deferred it, of a repeat the first one's, of a replay the replayed one. */
  readonly parentReceiptId: string | null;
  /** `token:ci`; null: it came by itself. */
  readonly replayedBy: string | null;
  readonly createdAt: Instant;
  readonly traceId: string | null;
  readonly delivery: {
    readonly eventId: string;
    readonly source: string;
    readonly type: string;
    readonly hookId: string | null;
    readonly emittedAt: Instant | null;
    readonly receivedAt: Instant;
  };
  readonly domain: {
    readonly workKey: string | null;
    readonly targetId: string | null;
    readonly inputVersion: string | null;
    readonly generation: number | null;
    readonly policyVersion: number;
    /** The blob of `.headgate.yaml` that narrowed the decision; null: none was read. */
    readonly repositoryConfig: string | null;
  };
  /** Of the run it led to: from its closing receipt, or while it lives from its newest attempt. */
  readonly execution: {
    readonly taskId: string | null;
    readonly runId: string | null;
    readonly attempt: number | null;
    readonly leaseId: string | null;
    /** A whole number in decimal: it may outgrow a double. */
    readonly fencingToken: string | null;
    readonly concurrencyKey: string | null;
  };
  readonly mutations: ReceiptMutation[];
  /** What a refused person was told where they asked; null: nobody is told. */
  readonly feedback: Feedback | null;
}

/** An answer to a refused request, told where it was asked, once. */
export interface Feedback {
  readonly repository: string;
  /** Of the issue or pull request. */
  readonly number: string;
  readonly status: 'intended' | 'attempted' | 'confirmed' | 'ambiguous' | 'abandoned';
  readonly reasonCode: ReasonCode;
  readonly message: string;
  readonly url: string | null;
  /** Why it was not told, or is not known to have been. */
  readonly detail: string | null;
  readonly settledAt: Instant | null;
}

export interface ReceiptMutation {
  readonly operationKey: string;
  readonly externalId: string | null;
  readonly status: string;
}

export interface ReceiptQuery extends PageQuery, TimeQuery {
  /** `decision` by default. */
  readonly kind?: 'decision' | 'closing';
  readonly outcome?: Outcome;
  readonly reasonCode?: ReasonCode;
  readonly source?: string;
  readonly route?: string;
  readonly eventId?: string;
  readonly workKey?: string;
  /** `owner/name`. */
  readonly repository?: string;
  readonly runId?: string;
}
