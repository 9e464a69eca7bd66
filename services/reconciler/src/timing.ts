/** When the reconciler looks, and how long something must have been wrong before it acts. */
import type { LeaseTiming } from '@headgate/domain';

export interface ReconcilerTiming {
  /** Between two looks of the reaper. Null: 5 s, and for a short lease a third of its TTL. */
  readonly reapMs: number | null;
  /** Between two looks for what has to be read or told at a forge: somebody waits for it. */
  readonly readMs: number;
  /** The longest pause between two such looks while there is nothing. */
  readonly idleReadMs: number;
  /** Between two rounds of a repair. */
  readonly repairMs: number;
  /** Between two looks at which source is due. */
  readonly lookMs: number;
  /** Between two rounds of housekeeping (partitions). */
  readonly housekeepingMs: number;
  /** How late a thing must be that others should have done: promote, hint again, leave ADMITTED. */
  readonly lateMs: number;
  /** Between two reads of the provider for one operation. */
  readonly operationReadMs: number;
  /** How long a call that was cut off may still land. */
  readonly settleMs: number;
}

export const RECONCILER_TIMING: ReconcilerTiming = {
  reapMs: null,
  readMs: 2_000,
  idleReadMs: 5_000,
  repairMs: 60_000,
  lookMs: 2_000,
  housekeepingMs: 3_600_000,
  lateMs: 60_000,
  operationReadMs: 60_000,
  settleMs: 60_000,
};

const LONGEST_REAP_MS = 5_000;
const REAPS_PER_TTL = 3;

/** An expired lease is taken within TTL + this. */
export const reapPeriodMs = (timing: ReconcilerTiming, lease: LeaseTiming): number =>
  timing.reapMs ?? Math.max(1, Math.min(LONGEST_REAP_MS, Math.floor(lease.ttlMs / REAPS_PER_TTL)));

/** The reconciler would not do what it is for. Said at the start, not at three in the morning. */
export class ReconcilerTimingError extends Error {
  override readonly name = 'ReconcilerTimingError';
}

/** Refuses a reaper that is as slow as the leases are short: it would find one expiry where there were two. */
export function assertTiming(timing: ReconcilerTiming, lease: LeaseTiming): void {
  const periodMs = reapPeriodMs(timing, lease);
  if (periodMs * 2 > lease.ttlMs) {
    throw new ReconcilerTimingError(
      `the reaper looks every ${periodMs} ms and a lease lasts ${lease.ttlMs} ms: the period must be at most half of it`,
    );
  }
}
