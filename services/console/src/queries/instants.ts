import type { Instant } from '@headgate/sdk';

export const instantOf = (at: Date): Instant => at.toISOString();
export const instantOrNull = (at: Date | null): Instant | null => at?.toISOString() ?? null;
