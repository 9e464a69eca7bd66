/** Chance that can be had again: the same seed gives the same numbers. */
export interface Seeded {
  readonly seed: number;
  /** In [0, 1). */
  next(): number;
  /** A whole number in [0, below). */
  below(below: number): number;
  pick<T>(list: readonly T[]): T;
}

/** Takes HEADGATE_SEED, else a fresh seed; whoever fails prints it. */
export function seeded(seed = Number(process.env['HEADGATE_SEED'] ?? Date.now() % 2 ** 31)): Seeded {
  let state = seed >>> 0;
  const next = (): number => {
    // A linear congruential step with its low bits mixed: enough to choose faults by.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const mixed = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) >>> 0;
    return ((mixed ^ (mixed >>> 12)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    seed,
    next,
    below,
    pick: (list) => {
      const found = list[below(list.length)];
      if (found === undefined) throw new Error('there is nothing to pick from');
      return found;
    },
  };
}
