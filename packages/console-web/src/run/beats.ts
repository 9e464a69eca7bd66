/**
 * When an attempt renewed its lease, as ticks. Heartbeats leave no row each: their number, the last one and their mean
 * distance are kept, so the last tick is exact and the others lie where they were on average. Pure.
 */
import type { AttemptLease } from '@headgate/sdk';

/** More would be a bar. */
const MAX_TICKS = 60;

export function beatsOf(lease: AttemptLease, maxTicks = MAX_TICKS): readonly number[] {
  const { acquiredAt, renewedAt, renewals } = lease;
  if (renewedAt === null || renewals === null || renewals === 0) return [];
  const fromMs = Date.parse(acquiredAt);
  const lastMs = Date.parse(renewedAt);
  const shown = Math.min(renewals, maxTicks);
  return Array.from({ length: shown }, (_, index) => fromMs + ((lastMs - fromMs) * (index + 1)) / shown);
}
