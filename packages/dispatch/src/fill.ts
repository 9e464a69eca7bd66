/**
 * Fills slots that have just become free: the worker that frees them dispatches for itself what it will claim at once,
 * and an ended run is followed by the next one without a message to anybody.
 *
 * It chooses as a scheduler does, by the same count under the same lock, from all that is ready: nothing here is
 * remembered, so a worker that has only seen one tenant favours none. Where more (queue, tenant) pairs have something
 * ready than one turn reads, or where heads that are blocked may hide others, it leaves that to the schedulers, who read on.
 *
 * The race of two who fill at once, or of one and a scheduler: the lock is only tried. Whoever holds it may have counted
 * before the other's slots were free, so the one who is turned away must wake a scheduler: that waits for the lock, and
 * counts after both. A crash after COMMIT leaves dispatched items that nobody was told of: upkeep hints them after 5 s.
 */
import type { WorkerId } from '@headgate/domain';
import {
  type ActivePolicy,
  type DispatchedItem,
  type DispatchedRun,
  type DispatchSnapshot,
  dispatch,
  type Pool,
} from '@headgate/store';
import { metrics, record } from '@headgate/telemetry';
import { capacityOf, choose, freeSlotsOf } from './choose.js';
import { headsPerPair } from './heads-per-pair.js';
import { nameOf } from './ready-tenants.js';

export interface FillRequest {
  readonly workerId: WorkerId;
  /** Its queues. */
  readonly queueIds: readonly number[];
  /** How many it can claim now. */
  readonly slots: number;
  readonly policy: ActivePolicy;
}

export interface Filled {
  /** Dispatched and not hinted: the caller claims them, or hints them. */
  readonly items: readonly DispatchedItem[];
  /** The same, with what a verdict needs, read in the same transaction. One that is missing cannot start now. */
  readonly runs: readonly DispatchedRun[];
  /** Something that was not dispatched may be startable now, by the caller or by others: wake a scheduler. */
  readonly isMoreLeft: boolean;
}

/** Pairs that a turn reads at most. */
const MOST_PAIRS = 200;

export async function fill(pool: Pool, request: FillRequest): Promise<Filled> {
  const { queueIds, slots, policy } = request;
  const startedAt = performance.now();
  let isMoreLeft = false;
  const outcome = await dispatch(pool, {
    pairs: { atMost: MOST_PAIRS },
    wait: false,
    readsRuns: true,
    read: (asked) => {
      const pairs = asked.filter((pair) => queueIds.includes(pair.queueId));
      isMoreLeft = pairs.length < asked.length;
      return { pairs, headsPerPair: headsPerPair(pairs.length, slots) };
    },
    choose: (snapshot) => {
      if (snapshot.policyVersion !== policy.version) {
        isMoreLeft = true;
        return [];
      }
      const capacity = capacityOf(snapshot.workers, snapshot.held);
      const { chosen } = choose(snapshot, policy, capacity);
      const mine = chosen.slice(0, slots).map((candidate) => candidate.runId);
      const room = Math.max(0, ...queueIds.map((queueId) => capacity.get(queueId)?.freeSlots ?? 0));
      // What is chosen above our slots is for others who have room (for slots of ours that were freed meanwhile there is a
      // turn of their own), and what stands behind the heads of a bounded read may be startable.
      isMoreLeft ||= chosen.length > mine.length && hasRoomElsewhere(snapshot, request);
      isMoreLeft ||= mine.length < Math.min(slots, room) && isCutOff(snapshot);
      return mine;
    },
  });
  if (outcome.kind !== 'dispatched') return { items: [], runs: [], isMoreLeft: true };
  const { items, runs } = outcome;
  if (items.length > 0) {
    metrics.dispatchDuration.record((performance.now() - startedAt) / 1000);
    metrics.dispatchBatchSize.record(items.length);
    record({ type: 'ok', op: 'dispatch', result: items.map((item) => [item.runId, item.dispatchNo]) });
  }
  return { items, runs, isMoreLeft };
}

function hasRoomElsewhere(
  { workers, held }: Pick<DispatchSnapshot, 'workers' | 'held'>,
  { workerId, queueIds }: Pick<FillRequest, 'workerId' | 'queueIds'>,
): boolean {
  const free = freeSlotsOf(held);
  return workers.some(
    (worker) =>
      worker.id !== workerId &&
      free(worker) > 0 &&
      worker.queueIds.some((queueId) => queueIds.includes(queueId)),
  );
}

/** Whether the read of any pair was bounded: more may stand behind what it saw. */
function isCutOff({ heads, reading }: Pick<DispatchSnapshot, 'heads' | 'reading'>): boolean {
  const counts = new Map<string, number>();
  for (const head of heads) counts.set(nameOf(head), (counts.get(nameOf(head)) ?? 0) + 1);
  return (
    heads.some((head) => head.isEndOfRead) ||
    [...counts.values()].some((count) => count >= reading.headsPerPair)
  );
}
