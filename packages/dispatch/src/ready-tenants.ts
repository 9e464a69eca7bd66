/**
 * Which (queue, tenant) pairs are believed to have something ready: fed by wake-ups and by a slow full scan.
 *
 * Memory proposes, rows decide: a pair that is named wrongly costs one empty read; one that was missed is found by
 * the next scan. Each pair has a cursor, so that 100 000 blocked heads do not hide what stands behind them.
 */
import type { ReadyCursor, ReadyPair } from '@headgate/store';

interface Entry {
  readonly pair: ReadyPair;
  after: ReadyCursor | null;
}

const nameOf = (pair: ReadyPair): string => `${pair.queueId}:${pair.tenantId}`;

export class ReadyTenants {
  readonly #entries = new Map<string, Entry>();

  note(pairs: readonly ReadyPair[]): void {
    for (const pair of pairs) {
      const name = nameOf(pair);
      if (!this.#entries.has(name)) this.#entries.set(name, { pair, after: null });
    }
  }

  /** After a full scan: exactly these have something ready; cursors of those that stay are kept. */
  replace(pairs: readonly ReadyPair[]): void {
    const kept = new Set(pairs.map(nameOf));
    for (const name of [...this.#entries.keys()]) if (!kept.has(name)) this.#entries.delete(name);
    this.note(pairs);
  }

  /** Up to `limit` pairs to ask this turn, those asked longest ago first. */
  next(limit: number): readonly (ReadyPair & { readonly after: ReadyCursor | null })[] {
    const chosen = [...this.#entries].slice(0, limit);
    for (const [name, entry] of chosen) {
      this.#entries.delete(name);
      this.#entries.set(name, entry);
    }
    return chosen.map(([, entry]) => ({ ...entry.pair, after: entry.after }));
  }

  /**
   * What a turn found: nothing (forget the pair, unless its cursor had moved: then start over), or only blocked heads
   * as far as it read (go on behind them next time).
   */
  learn(
    pair: ReadyPair,
    found: {
      readonly heads: number;
      readonly isFull: boolean;
      readonly chosen: number;
      readonly last: ReadyCursor | null;
    },
  ): void {
    const entry = this.#entries.get(nameOf(pair));
    if (entry === undefined) return;
    if (found.chosen === 0 && found.isFull && found.last !== null) {
      entry.after = found.last;
    } else if (found.heads === 0 && entry.after === null) {
      this.#entries.delete(nameOf(pair));
    } else {
      entry.after = null;
    }
  }

  get size(): number {
    return this.#entries.size;
  }
}
