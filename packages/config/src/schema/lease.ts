/**
 * Timing of the lease. The ratios are refused rather than corrected: with others a worker could still act
 * after its lease was given away, or lose it to one late heartbeat.
 */
import type { LeaseTiming } from '@headgate/domain';
import { complain } from './complaint.js';
import { duration, formatDuration } from './scalars.js';
import { strict } from './strict.js';

export const DEFAULT_LEASE: LeaseTiming = {
  ttlMs: 60_000,
  heartbeatMs: 15_000,
  renewDeadlineMs: 40_000,
  stopMarginMs: 20_000,
};

const MAX_HEARTBEAT_SHARE = 1 / 4;
const MIN_TTL_TO_DEADLINE = 1.5;

const time = duration({ minMs: 10, maxMs: 3_600_000 });

export const lease = strict(null, {
  ttl: time.optional(),
  heartbeat: time.optional(),
  renewDeadline: time.optional(),
  stopMargin: time.optional(),
})
  .transform(
    (written): LeaseTiming => ({
      ttlMs: written.ttl ?? DEFAULT_LEASE.ttlMs,
      heartbeatMs: written.heartbeat ?? DEFAULT_LEASE.heartbeatMs,
      renewDeadlineMs: written.renewDeadline ?? DEFAULT_LEASE.renewDeadlineMs,
      stopMarginMs: written.stopMargin ?? DEFAULT_LEASE.stopMarginMs,
    }),
  )
  .superRefine((timing, context) => {
    const { ttlMs, heartbeatMs, renewDeadlineMs, stopMarginMs } = timing;
    const [ttl, heartbeat, deadline, margin] = [ttlMs, heartbeatMs, renewDeadlineMs, stopMarginMs].map(
      formatDuration,
    );
    if (heartbeatMs > ttlMs * MAX_HEARTBEAT_SHARE) {
      complain(
        context,
        {
          message: `a heartbeat of ${heartbeat} is more than a quarter of the ttl, ${ttl}`,
          fix: `Write at most ${formatDuration(Math.floor(ttlMs * MAX_HEARTBEAT_SHARE))}, or lengthen the ttl.`,
        },
        ['heartbeat'],
      );
    }
    if (ttlMs / renewDeadlineMs < MIN_TTL_TO_DEADLINE) {
      complain(
        context,
        {
          message: `the ttl, ${ttl}, is only ${(ttlMs / renewDeadlineMs).toFixed(2)} times the renewDeadline, ${deadline}`,
          fix: `Write a renewDeadline of at most ${formatDuration(Math.floor(ttlMs / MIN_TTL_TO_DEADLINE))}.`,
        },
        ['renewDeadline'],
      );
    }
    if (renewDeadlineMs <= heartbeatMs) {
      complain(
        context,
        {
          message: `a renewDeadline of ${deadline} leaves no time for a second heartbeat after ${heartbeat}`,
          fix: 'Make it at least twice the heartbeat.',
        },
        ['renewDeadline'],
      );
    }
    if (renewDeadlineMs + stopMarginMs > ttlMs) {
      complain(
        context,
        {
          message: `renewDeadline ${deadline} and stopMargin ${margin} are ${formatDuration(renewDeadlineMs + stopMarginMs)} together, more than the ttl, ${ttl}`,
          fix: 'A worker must have stopped before its lease ends: shorten one of them.',
        },
        ['stopMargin'],
      );
    }
  });
