/**
 * Which of two versions of one target is newer, by the source's own order; never by arrival, since no source
 * promises to deliver in order.
 *
 * 1. The parent chain decides: a version that names the other as one it follows is newer.
 * 2. Else differing times of the source decide.
 * 3. Else the order is unknown, and unknown never cancels anything.
 *
 * Two versions that name each other (a branch pushed back and forth) contradict themselves; then only the
 * times count.
 */

/** A version as far as its place in the source's order is known. */
export interface VersionPoint {
  readonly inputVersion: string;
  /** When the source says the version came to be; null = not told. */
  readonly sourceAt: Date | null;
  /** Versions that this one is known to follow. */
  readonly parentVersions: readonly string[];
}

export type SourceOrder = 'newer' | 'older' | 'same' | 'unknown';

/** What `a` is to `b`. `order(a, b)` and `order(b, a)` always mirror each other. */
export function order(a: VersionPoint, b: VersionPoint): SourceOrder {
  if (a.inputVersion === b.inputVersion) return 'same';
  const follows = a.parentVersions.includes(b.inputVersion);
  const isFollowed = b.parentVersions.includes(a.inputVersion);
  if (follows !== isFollowed) return follows ? 'newer' : 'older';
  if (a.sourceAt === null || b.sourceAt === null) return 'unknown';
  const differenceMs = a.sourceAt.getTime() - b.sourceAt.getTime();
  if (differenceMs > 0) return 'newer';
  if (differenceMs < 0) return 'older';
  return 'unknown';
}
