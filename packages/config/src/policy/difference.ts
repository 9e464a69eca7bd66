/** What is different between two policies, entry by entry: for people before they activate one. */
import type { Policy } from '@headgate/domain';
import { canonicalJson } from './digest.js';

export interface PolicyChange {
  /** `routes.fix.limits.costUsd` */
  readonly path: string;
  /** Undefined: it was not there. */
  readonly before: unknown;
  /** Undefined: it is gone. */
  readonly after: unknown;
}

export function policyDifference(before: Policy | null, after: Policy): readonly PolicyChange[] {
  const { digest: _before, ...old } = before ?? { digest: '' };
  const { digest: _after, ...fresh } = after;
  const changes: PolicyChange[] = [];
  compare([], old, fresh, changes);
  return changes;
}

function compare(path: readonly string[], before: unknown, after: unknown, changes: PolicyChange[]): void {
  const [old, fresh] = [entriesOf(before), entriesOf(after)];
  if (old === null || fresh === null) {
    if (same(before, after)) return;
    changes.push({ path: path.join('.'), before, after });
    return;
  }
  for (const key of [...new Set([...old.keys(), ...fresh.keys()])]) {
    compare([...path, key], old.get(key), fresh.get(key), changes);
  }
}

const same = (a: unknown, b: unknown): boolean =>
  a === undefined || b === undefined ? a === b : canonicalJson(a) === canonicalJson(b);

/** A map's entries; of a list of named things each under its name. Null: a value that is compared as a whole. */
function entriesOf(value: unknown): ReadonlyMap<string, unknown> | null {
  if (typeof value !== 'object' || value === null) return null;
  if (!Array.isArray(value)) return new Map(Object.entries(value));
  const named = value.map((item) => [nameOf(item), item] as const);
  return value.length > 0 && named.every(([name]) => name !== null)
    ? new Map(named.map(([name, item]) => [name ?? '', item]))
    : null;
}

function nameOf(item: unknown): string | null {
  if (typeof item !== 'object' || item === null) return null;
  if ('id' in item && typeof item.id === 'string') return item.id;
  return 'fullName' in item && typeof item.fullName === 'string' ? item.fullName : null;
}
