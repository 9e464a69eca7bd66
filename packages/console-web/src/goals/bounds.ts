/** How much of each bound a goal has used: a bound that is reached ends it. Pure. */
import type { Goal } from '@headgate/sdk';
import { usd } from '../parts/amounts.js';
import { duration, term } from '../parts/moment.js';

export interface Bound {
  readonly name: string;
  /** 0 to 1. */
  readonly used: number;
  readonly words: string;
}

export function boundsOf(goal: Goal, nowMs: number): readonly Bound[] {
  const { stop, runs, noProgress, costUsd } = goal;
  const bounds: Bound[] = [
    { name: 'runs', used: share(runs, stop.maxRuns), words: `${runs} of ${stop.maxRuns}` },
    {
      name: 'without progress',
      used: share(noProgress, stop.noProgress),
      words: `${noProgress} of ${stop.noProgress} in a row`,
    },
  ];
  if (stop.maxCostUsd !== null) {
    bounds.push({
      name: 'cost',
      used: share(costUsd, stop.maxCostUsd),
      words: `${usd(costUsd)} of ${usd(stop.maxCostUsd)}`,
    });
  }
  const endMs = isOver(goal) ? Date.parse(goal.stateAt) : nowMs;
  const passedMs = Math.max(0, endMs - Date.parse(goal.startedAt));
  bounds.push({
    name: 'time',
    used: share(passedMs, stop.deadlineMs),
    words: `${duration(passedMs)} of ${term(stop.deadlineMs)}`,
  });
  return bounds;
}

export const isOver = ({ state }: Goal): boolean => state === 'done' || state === 'given-up';

const share = (used: number, most: number): number => (most <= 0 ? 1 : Math.min(1, used / most));
