import { closest, distance } from 'fastest-levenshtein';

/** A guess further off than this share of the word's length would mislead. */
const FARTHEST_SHARE = 0.5;
/** `zone` means `timezone`; shorter parts are found in too many words. */
const SHORTEST_PART = 4;

/** The name that was probably meant, or null. Letter case, `-` and `_` do not count. */
export function nearestName(written: string, names: readonly string[]): string | null {
  const plain = (name: string): string => name.toLowerCase().replace(/[-_]/g, '');
  const wanted = plain(written).slice(0, 100);
  const best = names.length === 0 ? null : closest(wanted, names.map(plain));
  const name = best === null ? undefined : names.find((candidate) => plain(candidate) === best);
  if (best === null || name === undefined) return null;
  const holder = names.find(
    (candidate) => wanted.length >= SHORTEST_PART && plain(candidate).includes(wanted),
  );
  if (holder !== undefined) return holder;
  return distance(wanted, best) <= Math.max(1, Math.floor(wanted.length * FARTHEST_SHARE)) ? name : null;
}

/** `Did you mean "mode"?`, or the list of what is allowed. */
export function suggest(written: string, names: readonly string[]): string {
  const nearest = nearestName(written, names);
  if (nearest !== null) return `Did you mean "${nearest}"?`;
  return names.length === 0 ? 'Remove it.' : `Use one of: ${names.join(', ')}.`;
}
