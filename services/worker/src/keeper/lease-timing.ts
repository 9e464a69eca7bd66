/** When a lease is renewed, and how long its holder may trust it. */
import type { LeaseTiming } from '@headgate/domain';

/** With other ratios one late heartbeat loses the lease, or a worker still acts after it was given away. */
export class LeaseTimingError extends Error {
  readonly code = 'LEASE_TIMING';
  constructor(problem: string) {
    super(`the lease timing cannot work: ${problem}`);
    this.name = 'LeaseTimingError';
  }
}

const MAX_HEARTBEAT_SHARE = 1 / 4;
const MIN_TTL_TO_DEADLINE = 1.5;

/** The configuration refuses the same ratios, with a place in the file; this also holds for policies from elsewhere. */
export function assertLeaseTiming(timing: LeaseTiming): void {
  const { ttlMs, heartbeatMs, renewDeadlineMs, stopMarginMs } = timing;
  if (heartbeatMs > ttlMs * MAX_HEARTBEAT_SHARE) {
    throw new LeaseTimingError(`heartbeat ${heartbeatMs} ms is more than a quarter of ttl ${ttlMs} ms`);
  }
  if (ttlMs / renewDeadlineMs < MIN_TTL_TO_DEADLINE) {
    throw new LeaseTimingError(
      `ttl ${ttlMs} ms is less than 1.5 times the renew deadline ${renewDeadlineMs} ms`,
    );
  }
  if (renewDeadlineMs <= heartbeatMs || renewDeadlineMs + stopMarginMs > ttlMs) {
    throw new LeaseTimingError(
      `renew deadline ${renewDeadlineMs} ms must be longer than the heartbeat and, with the stop margin ` +
        `${stopMarginMs} ms, within ttl ${ttlMs} ms`,
    );
  }
}

/**
 * How long after it was *sent* a renewal is trusted. Counted from before sending, so an answer that came late buys
 * nothing; and never longer than the renew deadline, after which a worker that could not renew gives up.
 */
export const trustWindowMs = ({ ttlMs, stopMarginMs, renewDeadlineMs }: LeaseTiming): number =>
  Math.min(ttlMs - stopMarginMs, renewDeadlineMs);
