/**
 * Rank: age, with priority as a head start (Q22). One static number, so age wins in the end: an item can be
 * passed only by items that came at most `agingBoundMs` after it.
 */

/** Seconds of head start by name; a number in the configuration is seconds. */
export const HEAD_START_SECONDS = { urgent: 14_400, high: 3_600, normal: 0, low: -3_600 } as const;
export type PriorityName = keyof typeof HEAD_START_SECONDS;

/** When the item counts as enqueued, in ms: the smaller goes first. A retry keeps its first `enqueuedAtMs`. */
export const rankAt = (enqueuedAtMs: number, headStartSeconds: number): number =>
  enqueuedAtMs - headStartSeconds * 1_000;

/** The longest that priority alone can hold an item back: the spread of the head starts in use. */
export function agingBoundMs(headStartsSeconds: readonly number[]): number {
  if (headStartsSeconds.length === 0) return 0;
  return (Math.max(...headStartsSeconds) - Math.min(...headStartsSeconds)) * 1_000;
}
