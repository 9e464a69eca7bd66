/** A delay after the nominal time that spreads schedules, the same on every replica and after a restart. */
import { hash16 } from '../work.js';

/** In [0, jitterMs): a hash of schedule and nominal time. */
export function jitterOf(scheduleId: string, nominalMs: number, jitterMs: number): number {
  if (jitterMs <= 0) return 0;
  const share = hash16(`${scheduleId}\u0000${nominalMs}`).readUIntBE(0, 6) / 2 ** 48;
  return Math.floor(share * jitterMs);
}
