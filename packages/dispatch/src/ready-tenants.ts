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
  /** Grows with each note: what a turn read before it says nothing about what was noted after. */
  notes: number;
  notesWhenAsked: number;
}

export interface Found {
  readonly heads: number;
  /** The read was bounded, by heads or by what it looked through: there may be more. */
  readonly isFull: boolean;
  readonly chosen: number;
  readonly last: ReadyCursor | null;
  /** Items may be there that were not read. */
  readonly mayHide: boolean;
}

export const nameOf = (pair: ReadyPair): string => `${pair.queueId}:${pair.tenantId}`;

export class ReadyTenants {
  readonly #entries = new Map<string, Entry>();

  note(pairs: readonly ReadyPair[]): void {
    for (const pair of pairs) {
      const name = nameOf(pair);
      const entry = this.#entries.get(name);
      if (entry === undefined) this.#entries.set(name, { pair, after: null, notes: 1, notesWhenAsked: 0 });
      else entry.notes += 1;
    }
  }

  /** How often each pair was noted so far: to be taken before a full scan. */
  notes(): ReadonlyMap<string, number> {
    return new Map([...this.#entries].map(([name, entry]) => [name, entry.notes]));
  }

  /**
   * After a full scan: exactly these have something ready, and what was noted while it read. Cursors of those that
   * stay are kept.
   */
  replace(pairs: readonly ReadyPair[], before: ReadonlyMap<string, number>): void {
    const kept = new Set(pairs.map(nameOf));
    for (const [name, entry] of [...this.#entries]) {
      if (!kept.has(name) && entry.notes === before.get(name)) this.#entries.delete(name);
    }
    this.note(pairs);
  }

  /** Up to `limit` pairs to ask this turn, those asked longest ago first. */
  next(limit: number): readonly (ReadyPair & { readonly after: ReadyCursor | null })[] {
    const chosen = [...this.#entries].slice(0, limit);
    for (const [name, entry] of chosen) {
      entry.notesWhenAsked = entry.notes;
      this.#entries.delete(name);
      this.#entries.set(name, entry);
    }
    return chosen.map(([, entry]) => ({ ...entry.pair, after: entry.after }));
  }

  /**
   * What a turn found: nothing (forget the pair, unless its cursor had moved: then start over), or only blocked heads
   * as far as it read (go on behind them next time).
   */
  learn(pair: ReadyPair, found: Found): void {
    const entry = this.#entries.get(nameOf(pair));
    if (entry === undefined) return;
    if (found.chosen === 0 && found.isFull && found.last !== null) {
      entry.after = { rankAt: found.last.rankAt, runId: found.last.runId };
      return;
    }
    const isEmpty =
      found.heads === 0 && !found.mayHide && entry.after === null && entry.notes === entry.notesWhenAsked;
    if (isEmpty) this.#entries.delete(nameOf(pair));
    else entry.after = null;
  }

  /** Whether a pair's next read goes on behind blocked heads. */
  get readsOn(): boolean {
    return [...this.#entries.values()].some((entry) => entry.after !== null);
  }

  get size(): number {
    return this.#entries.size;
  }
}
