/**
 * Keeps a metric's label sets few, whatever is handed in: a closed list takes its values only, an open one its
 * first n; everything else, and everything that looks like an id, counts as `other`.
 */
import type { LabelSpec, LabelSpecs } from './spec.js';

export const OTHER = 'other';
const MAX_VALUE_CHARS = 120;
/** UUIDs, our TypeIDs, and long hexadecimal digests. */
const LOOKS_LIKE_ID = /[0-9a-f]{8}-[0-9a-f]{4}-|(?:^|[^a-z])[a-z]{2,6}_[0-9a-hjkmnp-tv-z]{26}|[0-9a-f]{32}/i;

function guardOf(spec: LabelSpec): (value: string) => string {
  if (!('atMost' in spec)) {
    const known = new Set<string>(spec);
    return (value) => (known.has(value) ? value : OTHER);
  }
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) return value;
    if (seen.size >= spec.atMost || value.length > MAX_VALUE_CHARS || LOOKS_LIKE_ID.test(value)) return OTHER;
    seen.add(value);
    return value;
  };
}

export type LabelValues = Readonly<Record<string, string>>;

/** Returns exactly the declared labels, in the declared order. */
export function labelGuard(specs: LabelSpecs): (labels: LabelValues | undefined) => LabelValues {
  const guards = Object.entries(specs).map(([name, spec]) => [name, guardOf(spec)] as const);
  return (labels) =>
    Object.fromEntries(guards.map(([name, guard]) => [name, guard(labels?.[name] ?? OTHER)] as const));
}

/** The most label sets a metric can ever hold, `other` included. */
export function largestLabelSets(specs: LabelSpecs): number {
  const values = Object.values(specs).map((spec) => {
    if ('atMost' in spec) return spec.atMost + 1;
    return spec.length + (spec.includes(OTHER) ? 0 : 1);
  });
  return values.reduce((product, count) => product * count, 1);
}
