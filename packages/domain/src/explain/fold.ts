/**
 * Equal receipts as one step. A source that delivers twenty times gets twenty receipts, as does a schedule that finds nothing
 * twenty times, and they are one fact: the first one's place and delivery, how many, and when the last came. Only receipts are folded: that a run was claimed twice is its story.
 */
import type { Step } from './explanation.js';

export function foldEqual(steps: readonly Step[]): readonly Step[] {
  const folded: Step[] = [];
  const places = new Map<string, number>();
  for (const step of steps) {
    const key = step.outcome === null ? null : sameness(step);
    const place = key === null ? undefined : places.get(key);
    const first = place === undefined ? undefined : folded[place];
    if (place !== undefined && first !== undefined) {
      folded[place] = { ...first, count: first.count + step.count, lastAt: later(first.lastAt, step.lastAt) };
      continue;
    }
    if (key !== null) places.set(key, folded.length);
    folded.push(step);
  }
  return folded;
}

/** All that is told of a receipt, but for which one it is and when it came; where nothing was to do, also by which delivery. */
function sameness({ type, outcome, reasonCode, message, rule, actor, runId }: Step): string {
  const told = outcome === 'no-work' ? message.replace(/ \(delivery [^)]*\)/, '') : message;
  return JSON.stringify([type, outcome, reasonCode, told, rule, actor, runId]);
}

const later = (a: Date, b: Date): Date => (a.getTime() >= b.getTime() ? a : b);
