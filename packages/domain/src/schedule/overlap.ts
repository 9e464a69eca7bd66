/**
 * What a tick does when earlier ones of its schedule have not ended (I2), decided per target under the
 * schedule's lock: for the timer, a manual trigger of the schedule and a backfill alike (INV-SC3).
 */
import type { RunId } from '../ids.js';
import type { OverlapPolicy } from '../policy.js';

/** Runs of the schedule for one target. */
export interface LiveTicks {
  /** Started or queued, not ended, oldest first. */
  readonly running: readonly RunId[];
  /** Ticks kept back until the running ones have ended. */
  readonly buffered: number;
}

export type OverlapDecision =
  | { readonly kind: 'start' }
  /** OVERLAP_SKIPPED: the tick is settled without a run. */
  | { readonly kind: 'skip'; readonly reasonCode: 'OVERLAP_SKIPPED' }
  /** Kept until the running ones have ended. */
  | { readonly kind: 'buffer' }
  /** The running ones are asked to stop (`gracefully`: with their clean-up; else at once), then it starts. */
  | { readonly kind: 'replace'; readonly stop: readonly RunId[]; readonly gracefully: boolean };

/** Further ticks are skipped: a buffer that grows without end is a schedule that is too fast. */
export const MOST_BUFFERED = 1_000;

const SKIP: OverlapDecision = { kind: 'skip', reasonCode: 'OVERLAP_SKIPPED' };

export function decideOverlap(policy: OverlapPolicy, live: LiveTicks): OverlapDecision {
  const isFree = live.running.length === 0 && live.buffered === 0;
  if (isFree || policy === 'allowAll') return { kind: 'start' };
  switch (policy) {
    case 'skip':
      return SKIP;
    case 'bufferOne':
      return live.buffered === 0 ? { kind: 'buffer' } : SKIP;
    case 'bufferAll':
      return live.buffered < MOST_BUFFERED ? { kind: 'buffer' } : SKIP;
    case 'cancelOther':
      return { kind: 'replace', stop: live.running, gracefully: true };
    case 'terminateOther':
      return { kind: 'replace', stop: live.running, gracefully: false };
  }
}
