/**
 * Which ready items are dispatched now: whose turn it is by fairness, which of the tenant's by rank, and only
 * under every limit (Q22, Q23). Priority is inside the rank and nowhere else; it never lifts a limit.
 *
 * In a round slots are only given, so a limit that is full stays full: each candidate is looked at once, and
 * one that was passed over needs no second look. The caller holds the dispatch lock while it counts and marks
 * (SQL rule 4); this function only decides.
 */
import { blockOf } from './block.js';
import { heldDraft, hold } from './held.js';
import type { TenantShare } from './tenant-order.js';
import type { QueueCandidate, QueueCapacity, Selection, SelectionInput, Skipped } from './types.js';

/** A tenant's candidates by rank, and how far the round has come in them. */
interface Line {
  readonly tenant: number;
  readonly candidates: readonly QueueCandidate[];
  position: number;
}

/** Gives out slots until nothing more may start. Every candidate is either chosen or skipped with a reason. */
export function select(input: SelectionInput): Selection {
  const { limits, fairness, now } = input;
  const held = heldDraft(input.held);
  const capacity = new Map<number, QueueCapacity>(input.capacity);
  const chosen: QueueCandidate[] = [];
  const skipped: Skipped[] = [];

  /** The tenant's next candidate that may start; those before it are blocked, and stay so. */
  const headOf = (line: Line): QueueCandidate | null => {
    for (; ; line.position += 1) {
      const candidate = line.candidates[line.position];
      if (candidate === undefined) return null;
      const block = blockOf(candidate, { held, limits, capacity });
      if (block === null) return candidate;
      skipped.push({ runId: candidate.runId, ...block });
    }
  };

  let lines = linesByTenant(input.candidates);
  for (;;) {
    const shares: TenantShare[] = [];
    const waiting: Line[] = [];
    const heads = new Map<number, { readonly line: Line; readonly candidate: QueueCandidate }>();
    for (const line of lines) {
      const candidate = headOf(line);
      if (candidate === null) continue;
      waiting.push(line);
      heads.set(line.tenant, { line, candidate });
      shares.push({
        tenant: line.tenant,
        weight: fairness.weights.get(line.tenant) ?? 1,
        held: held.byTenant.get(line.tenant) ?? 0,
        headRankAt: candidate.rankAt,
      });
    }
    if (shares.length === 0) return { chosen, skipped };
    lines = waiting;
    const head = heads.get(fairness.order.next(shares, now));
    if (head === undefined) throw new Error('the tenant order named a tenant that was not offered');
    chosen.push(head.candidate);
    head.line.position += 1;
    hold(held, head.candidate);
    takeSlot(capacity, head.candidate.queue);
  }
}

function linesByTenant(candidates: readonly QueueCandidate[]): Line[] {
  const groups = new Map<number, QueueCandidate[]>();
  for (const candidate of candidates) {
    const group = groups.get(candidate.tenant);
    if (group === undefined) groups.set(candidate.tenant, [candidate]);
    else group.push(candidate);
  }
  return [...groups].map(([tenant, group]) => ({
    tenant,
    candidates: group.sort(byRank),
    position: 0,
  }));
}

/** The run's id breaks ties: it grows with time, and every scheduler sorts alike. */
function byRank(a: QueueCandidate, b: QueueCandidate): number {
  if (a.rankAt !== b.rankAt) return a.rankAt - b.rankAt;
  if (a.runId === b.runId) return 0;
  return a.runId < b.runId ? -1 : 1;
}

function takeSlot(capacity: Map<number, QueueCapacity>, queue: number): void {
  const before = capacity.get(queue);
  if (before !== undefined) capacity.set(queue, { ...before, freeSlots: before.freeSlots - 1 });
}
