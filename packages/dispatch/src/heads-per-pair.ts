/**
 * How many heads of each (queue, tenant) pair a turn reads. Pure.
 *
 * Of few pairs many each, of many pairs few; and no more than a few for each slot that is free: what a turn costs follows
 * what it can start, not what waits. Heads that are blocked are read past by the next turns.
 */

/** Over all pairs, at most. */
const MOST_HEADS = 800;
const MOST_HEADS_PER_PAIR = 200;
/** Some of them are blocked, and tenants take turns. */
const HEADS_PER_SLOT = 2;
/** Whatever is free. */
const FEWEST_HEADS = 40;

export function headsPerPair(pairs: number, freeSlots: number): number {
  const heads = Math.min(MOST_HEADS, Math.max(FEWEST_HEADS, freeSlots * HEADS_PER_SLOT));
  return Math.max(1, Math.min(MOST_HEADS_PER_PAIR, Math.floor(heads / Math.max(1, pairs))));
}
