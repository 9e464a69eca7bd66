/** From the counted rows to the domain's `select`: which ready items may start now. Pure. */
import {
  type Fairness,
  type HeldSlots,
  heldDraft,
  hold,
  NOTHING_HELD,
  type Policy,
  type QueueCandidate,
  type QueueCapacity,
  type Risk,
  type Selection,
  type SelectionLimits,
  type SlotDimensions,
  select,
  type WorkerId,
  weightedRoundRobin,
} from '@headgate/domain';
import type {
  ActivePolicy,
  Counted,
  DispatchSnapshot,
  HeldRow,
  LiveWorker,
  ReadyItem,
} from '@headgate/store';

/** Dispatched ahead of free slots, per queue: a worker that frees a slot finds its next run waiting in Redis. */
const windowOf = (slots: number): number => Math.max(2, Math.floor(slots / 4));

const RISKS: readonly Risk[] = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'];

/** @param capacity what each queue can take; default: what is offered, with the window. */
export function choose(
  snapshot: DispatchSnapshot,
  active: ActivePolicy,
  capacity: ReadonlyMap<number, QueueCapacity> = offeredBy(snapshot),
): Selection {
  return select({
    candidates: snapshot.heads.map(candidateOf),
    held: heldOf(snapshot.held),
    limits: limitsOf(active.policy, active.tenantIds),
    capacity,
    fairness: fairnessOf(active),
    now: snapshot.now.getTime(),
  });
}

/** The counted slots behind the rows. */
export function heldOf(rows: readonly HeldRow[]): HeldSlots {
  const held = heldDraft(NOTHING_HELD);
  for (const row of rows) for (let n = 0; n < row.held; n += 1) hold(held, slotOf(row));
  return held;
}

const hex = (key: Buffer | null): string | null => key?.toString('hex') ?? null;

const slotOf = (row: HeldRow): SlotDimensions => ({
  tenant: row.tenantId,
  queue: row.queueId,
  repository: row.repositoryId,
  user: row.userId,
  risk: row.risk,
  provider: row.providerId,
  agent: row.agentId,
  concurrencyKey: hex(row.concurrencyKey),
  taskKey: row.exclusiveTaskId,
});

/** A ready item as selection and *why* judge it. */
export const candidateOf = (item: ReadyItem): QueueCandidate => ({
  runId: item.runId,
  tenant: item.tenantId,
  queue: item.queueId,
  repository: item.repositoryId,
  user: item.userId,
  risk: item.risk,
  provider: item.providerId,
  agent: item.agentId,
  concurrencyKey: hex(item.concurrencyKey),
  concurrencyLimit: item.concurrencyLimit,
  taskKey: item.exclusiveTask ? item.taskId : null,
  rankAt: item.rankAt.getTime(),
});

/** Limits of the configuration, by the small ids the rows carry. */
export function limitsOf(policy: Policy, tenantIds: ReadonlyMap<string, number>): SelectionLimits {
  const perTenant = new Map<number, number>();
  for (const tenant of policy.tenants) {
    const id = tenantIds.get(tenant.id);
    if (id !== undefined && tenant.maxActive !== null) perTenant.set(id, tenant.maxActive);
    if (id !== undefined && tenant.suspended) perTenant.set(id, 0);
  }
  const perRisk = new Map<number, number>();
  RISKS.forEach((risk, rank) => {
    const limit = policy.limits.maxActiveByRisk[risk];
    if (limit !== undefined) perRisk.set(rank, limit);
  });
  return {
    maxActive: policy.limits.maxActive,
    perTenant,
    perRepository: policy.limits.maxActivePerRepository,
    perUser: policy.limits.maxActivePerUser,
    perRisk,
    // Command agents have no model provider; the dimension is there for those that do.
    perProvider: new Map(),
  };
}

/** What each queue can still take: free slots of its live workers, and a small window, less what is on its way. */
export const offeredBy = ({ workers, held }: Counted): ReadonlyMap<number, QueueCapacity> =>
  capacityOf(workers, held, windowOf);

/** @param ahead how many may be dispatched ahead of free slots, of so many slots in all. Default: none. */
export function capacityOf(
  workers: readonly LiveWorker[],
  held: readonly HeldRow[],
  ahead: (slots: number) => number = () => 0,
): ReadonlyMap<number, QueueCapacity> {
  const capacity = new Map<number, QueueCapacity>();
  const free = freeSlotsOf(held);
  for (const queueId of new Set(workers.flatMap((worker) => worker.queueIds))) {
    const serving = workers.filter((worker) => worker.queueIds.includes(queueId));
    const sum = (of: (worker: LiveWorker) => number): number =>
      serving.reduce((total, worker) => total + of(worker), 0);
    capacity.set(queueId, {
      liveWorkers: serving.length,
      freeSlots: ahead(sum(({ slots }) => slots)) + sum(free),
    });
  }
  for (const row of held) {
    const known = capacity.get(row.queueId);
    if (known !== undefined)
      capacity.set(row.queueId, { ...known, freeSlots: known.freeSlots - row.dispatched });
  }
  return capacity;
}

/** Slots of a worker that no lease holds. */
export function freeSlotsOf(rows: readonly HeldRow[]): (worker: LiveWorker) => number {
  const leases = new Map<WorkerId, number>();
  for (const { workerId, held } of rows) {
    if (workerId !== null) leases.set(workerId, (leases.get(workerId) ?? 0) + held);
  }
  return ({ id, slots }) => Math.max(0, slots - (leases.get(id) ?? 0));
}

const fairnessOf = (active: ActivePolicy): Fairness => ({
  order: weightedRoundRobin,
  weights: new Map(
    active.policy.tenants.flatMap((tenant) => {
      const id = active.tenantIds.get(tenant.id);
      return id === undefined ? [] : [[id, tenant.weight] as const];
    }),
  ),
});
