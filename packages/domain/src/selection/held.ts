/** Counting held slots, from rows that exist: never from counters that can drift. */
import { type HeldSlots, type SlotDimensions, slotKey } from './types.js';

/** A count that grows while a round gives slots away. */
export interface HeldDraft extends HeldSlots {
  total: number;
  readonly byTenant: Map<number, number>;
  readonly byRepository: Map<number, number>;
  readonly byUser: Map<number, number>;
  readonly byRisk: Map<number, number>;
  readonly byProvider: Map<number, number>;
  readonly byConcurrencyKey: Map<string, number>;
  readonly tasks: Set<string>;
}

/** The count over leases and dispatched items. */
export function countHeld(rows: readonly SlotDimensions[]): HeldSlots {
  const draft = heldDraft(NOTHING_HELD);
  for (const row of rows) hold(draft, row);
  return draft;
}

export const NOTHING_HELD: HeldSlots = {
  total: 0,
  byTenant: new Map(),
  byRepository: new Map(),
  byUser: new Map(),
  byRisk: new Map(),
  byProvider: new Map(),
  byConcurrencyKey: new Map(),
  tasks: new Set(),
};

export const heldDraft = (held: HeldSlots): HeldDraft => ({
  total: held.total,
  byTenant: new Map(held.byTenant),
  byRepository: new Map(held.byRepository),
  byUser: new Map(held.byUser),
  byRisk: new Map(held.byRisk),
  byProvider: new Map(held.byProvider),
  byConcurrencyKey: new Map(held.byConcurrencyKey),
  tasks: new Set(held.tasks),
});

export function hold(draft: HeldDraft, slot: SlotDimensions): void {
  draft.total += 1;
  add(draft.byTenant, slot.tenant);
  if (slot.repository !== null) add(draft.byRepository, slot.repository);
  if (slot.user !== null) add(draft.byUser, slot.user);
  if (slot.risk !== null) add(draft.byRisk, slot.risk);
  if (slot.provider !== null) add(draft.byProvider, slot.provider);
  if (slot.concurrencyKey !== null) add(draft.byConcurrencyKey, slotKey(slot.tenant, slot.concurrencyKey));
  if (slot.taskKey !== null) draft.tasks.add(slotKey(slot.tenant, slot.taskKey));
}

function add<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
