/** Small ways to gather what a check found. */
import type { Examined } from './model.js';

export class Collector {
  private readonly violations: { message: string; evidence: readonly unknown[] }[] = [];
  private readonly counts: Record<string, number> = {};

  /** `required` names what must have happened at least once before the invariant counts as tested. */
  constructor(...required: readonly string[]) {
    for (const name of required) this.counts[name] = 0;
  }

  violated(message: string, ...evidence: readonly unknown[]): void {
    this.violations.push({ message, evidence });
  }

  saw(name: string, times = 1): void {
    this.counts[name] = (this.counts[name] ?? 0) + times;
  }

  done(): Examined {
    return { violations: this.violations, counts: this.counts };
  }
}

export function groupBy<T>(items: Iterable<T>, keyOf: (item: T) => string | null): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key === null) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** Each item with the one after it. */
export function* pairs<T>(items: readonly T[]): Generator<readonly [T, T]> {
  for (let index = 1; index < items.length; index += 1) {
    const before = items[index - 1];
    const after = items[index];
    if (before !== undefined && after !== undefined) yield [before, after];
  }
}
