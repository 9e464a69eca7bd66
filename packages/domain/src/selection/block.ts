/**
 * The one place that knows why a candidate may not start. Selection and *why* both ask it, so an explanation
 * can never name a rule that did not decide.
 */
import {
  type Block,
  type BlockCode,
  type HeldSlots,
  type QueueCandidate,
  type QueueCapacity,
  type SelectionLimits,
  slotKey,
} from './types.js';

export interface BlockInput {
  readonly held: HeldSlots;
  readonly limits: SelectionLimits;
  readonly capacity: ReadonlyMap<number, QueueCapacity>;
}

/**
 * The first limit that stands in the way, or null. Asked from what only somebody's action changes, through
 * what is narrow, to what is shared by all: the first reason is the one worth acting on.
 */
export function blockOf(candidate: QueueCandidate, input: BlockInput): Block | null {
  const { held, limits } = input;
  const queue = input.capacity.get(candidate.queue);
  if (queue === undefined || queue.liveWorkers === 0) {
    return { reasonCode: queue?.without ?? 'NO_CAPABLE_WORKER', numbers: { liveWorkers: 0 } };
  }
  const { tenant, repository, user, provider, risk } = candidate;
  return (
    taskBusy(candidate, held) ??
    keyBusy(candidate, held) ??
    atLimit('REPOSITORY_AT_LIMIT', held.byRepository, repository, limits.perRepository) ??
    atLimit('USER_AT_LIMIT', held.byUser, user, limits.perUser) ??
    atLimit('PROVIDER_AT_LIMIT', held.byProvider, provider, limitFor(limits.perProvider, provider)) ??
    atLimit('RISK_AT_LIMIT', held.byRisk, risk, limitFor(limits.perRisk, risk)) ??
    atLimit('TENANT_AT_LIMIT', held.byTenant, tenant, limitFor(limits.perTenant, tenant)) ??
    full('GLOBAL_AT_LIMIT', held.total, limits.maxActive) ??
    noFreeSlot(queue)
  );
}

/** Two versions of a task never run at once: the task is a concurrency key of limit 1. */
function taskBusy({ tenant, taskKey }: QueueCandidate, held: HeldSlots): Block | null {
  if (taskKey === null || !held.tasks.has(slotKey(tenant, taskKey))) return null;
  return { reasonCode: 'CONCURRENCY_KEY_BUSY', numbers: { held: 1, limit: 1 } };
}

function keyBusy(candidate: QueueCandidate, held: HeldSlots): Block | null {
  if (candidate.concurrencyKey === null) return null;
  const count = held.byConcurrencyKey.get(slotKey(candidate.tenant, candidate.concurrencyKey)) ?? 0;
  return full('CONCURRENCY_KEY_BUSY', count, candidate.concurrencyLimit);
}

function atLimit(
  reasonCode: BlockCode,
  counts: ReadonlyMap<number, number>,
  id: number | null,
  limit: number | null,
): Block | null {
  return id === null ? null : full(reasonCode, counts.get(id) ?? 0, limit);
}

function full(reasonCode: BlockCode, held: number, limit: number | null): Block | null {
  return limit !== null && held >= limit ? { reasonCode, numbers: { held, limit } } : null;
}

function noFreeSlot({ liveWorkers, freeSlots }: QueueCapacity): Block | null {
  return freeSlots > 0
    ? null
    : { reasonCode: 'READY', numbers: { liveWorkers, freeSlots: Math.max(0, freeSlots) } };
}

const limitFor = (limits: ReadonlyMap<number, number>, id: number | null): number | null =>
  id === null ? null : (limits.get(id) ?? null);
