/**
 * What selection reads: candidates, what is held, the limits, free capacity. Dimensions are the small ids of
 * `queue_item` and `lease`, unique over all tenants; keys are hashes in hex and belong to their tenant.
 */
import type { RunId } from '../ids.js';
import type { Numbers } from '../sentences.js';
import type { TenantOrder } from './tenant-order.js';

/** The dimensions of a run that limits count. null = the run has none of it, and no limit of it applies. */
export interface SlotDimensions {
  readonly tenant: number;
  readonly queue: number;
  readonly repository: number | null;
  readonly user: number | null;
  readonly risk: number | null;
  readonly provider: number | null;
  readonly agent: number | null;
  /** hash16 of the concurrency key, in hex. */
  readonly concurrencyKey: string | null;
  /** hash16 of the task in hex; null where the route allows several versions at once. */
  readonly taskKey: string | null;
}

/** A ready queue item. */
export interface QueueCandidate extends SlotDimensions {
  readonly runId: RunId;
  /** Enqueued minus head start, in ms: the smaller goes first. */
  readonly rankAt: number;
  /** How many runs may hold the concurrency key at once; null without a key. */
  readonly concurrencyLimit: number | null;
}

/** Slots held now: leases and dispatched items. */
export interface HeldSlots {
  readonly total: number;
  readonly byTenant: ReadonlyMap<number, number>;
  readonly byRepository: ReadonlyMap<number, number>;
  readonly byUser: ReadonlyMap<number, number>;
  readonly byRisk: ReadonlyMap<number, number>;
  readonly byProvider: ReadonlyMap<number, number>;
  /** By `slotKey(tenant, concurrencyKey)`. */
  readonly byConcurrencyKey: ReadonlyMap<string, number>;
  /** By `slotKey(tenant, taskKey)`: tasks with a run that holds a slot. */
  readonly tasks: ReadonlySet<string>;
}

/** null or no entry = no limit. */
export interface SelectionLimits {
  readonly maxActive: number | null;
  readonly perTenant: ReadonlyMap<number, number>;
  readonly perRepository: number | null;
  readonly perUser: number | null;
  readonly perRisk: ReadonlyMap<number, number>;
  readonly perProvider: ReadonlyMap<number, number>;
}

/** What a queue can still take. A queue without an entry has no live worker. */
export interface QueueCapacity {
  /** Live workers that join the queue and can do what it asks. */
  readonly liveWorkers: number;
  /** Their free slots plus the window of runs dispatched ahead, less what is dispatched already. */
  readonly freeSlots: number;
  /** Why there is no live worker, when it is known to be for want of isolation. */
  readonly without?: 'NO_CAPABLE_WORKER' | 'NO_ISOLATION';
}

export interface Fairness {
  readonly order: TenantOrder;
  /** By tenant; no entry = 1. */
  readonly weights: ReadonlyMap<number, number>;
}

export interface SelectionInput {
  readonly candidates: readonly QueueCandidate[];
  readonly held: HeldSlots;
  readonly limits: SelectionLimits;
  /** By queue. */
  readonly capacity: ReadonlyMap<number, QueueCapacity>;
  readonly fairness: Fairness;
  /** Database time in ms; selection itself does not depend on it, a `TenantOrder` with decay may. */
  readonly now: number;
}

/** Why a candidate may not start now: codes of class `waiting`. */
export type BlockCode =
  | 'NO_CAPABLE_WORKER'
  | 'NO_ISOLATION'
  | 'CONCURRENCY_KEY_BUSY'
  | 'REPOSITORY_AT_LIMIT'
  | 'USER_AT_LIMIT'
  | 'PROVIDER_AT_LIMIT'
  | 'RISK_AT_LIMIT'
  | 'TENANT_AT_LIMIT'
  | 'GLOBAL_AT_LIMIT'
  | 'READY';

export interface Block {
  readonly reasonCode: BlockCode;
  readonly numbers: Numbers;
}

export interface Skipped extends Block {
  readonly runId: RunId;
}

export interface Selection {
  /** In the order in which they got their slots. */
  readonly chosen: readonly QueueCandidate[];
  /** Every other candidate, with the first limit that stood in its way. */
  readonly skipped: readonly Skipped[];
}

/** Key of a concurrency key or a task inside its tenant. */
export const slotKey = (tenant: number, key: string): string => `${tenant}:${key}`;
