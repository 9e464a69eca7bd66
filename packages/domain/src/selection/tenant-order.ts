/**
 * Whose turn it is. A port: the default shares slots by number; fairness in slot-time (decayed usage) takes
 * its place behind the same interface, without a change to limits or rank.
 */

/** A tenant that has a candidate that could start now. */
export interface TenantShare {
  readonly tenant: number;
  /** Above 0. */
  readonly weight: number;
  /** Slots held now, those given in this round included. */
  readonly held: number;
  /** Rank of its next candidate in ms: the smaller has waited longer. */
  readonly headRankAt: number;
}

export interface TenantOrder {
  /** The tenant that gets the next slot; one of `shares`, which is never empty. */
  next(shares: readonly TenantShare[], now: number): number;
}

/**
 * Weighted round robin: the next slot goes to the tenant with the smallest held / weight; among equals to the
 * one whose head has waited longest, then to the smaller id. Deterministic, so that every scheduler that sees
 * the same rows chooses the same.
 */
export const weightedRoundRobin: TenantOrder = {
  next(shares) {
    const [first, ...rest] = shares;
    if (first === undefined) throw new Error('no tenant to choose from');
    return rest.reduce((best, share) => (comesBefore(share, best) ? share : best), first).tenant;
  },
};

function comesBefore(a: TenantShare, b: TenantShare): boolean {
  // Cross-multiplied, so that equal shares of whole numbers compare equal.
  const difference = a.held * b.weight - b.held * a.weight;
  if (difference !== 0) return difference < 0;
  if (a.headRankAt !== b.headRankAt) return a.headRankAt < b.headRankAt;
  return a.tenant < b.tenant;
}
