/** What stands at the head of the console. */
import type { ReasonCode } from '@headgate/domain';
import type { Instant } from './shared.js';

/** Who asks. */
export interface Caller {
  /** The token's. */
  readonly name: string;
  readonly role: 'viewer' | 'operator' | 'approver' | 'admin';
  /** The tenant that the token is bound to; null: it sees all. */
  readonly tenant: string | null;
  readonly version: string;
}

export interface Overview {
  readonly at: Instant;
  readonly running: number;
  readonly slots: number;
  readonly liveWorkers: number;
  readonly waiting: {
    readonly total: number;
    /** Only waiting for their turn. */
    readonly eligible: number;
    /** Not until something changes: a limit, a time, a person. */
    readonly notEligible: number;
    /** Why, the most frequent first. READY means: only for their turn. */
    readonly reasons: { readonly reasonCode: ReasonCode; readonly count: number }[];
    /** Of how many the reasons were counted: the first in line, and all that wait for a person. */
    readonly counted: number;
  };
  readonly oldestReadyAt: Instant | null;
  /** Settled today, each tenant's day being its own zone's. */
  readonly spentTodayUsd: number;
  /** Of the configuration (budgets.perDayUsd); null: none. */
  readonly dayLimitUsd: number | null;
}

/** What runs can be filtered by. */
export interface Facets {
  readonly tenants: string[];
  readonly routes: string[];
  readonly repositories: string[];
}
