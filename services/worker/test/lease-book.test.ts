import type { LeaseId, RunId } from '@headgate/domain';
import type { BeatAnswer, Fence } from '@headgate/store';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LeaseBook } from '../src/keeper/lease-book.js';
import { assertLeaseTiming, LeaseTimingError, trustWindowMs } from '../src/keeper/lease-timing.js';

const TIMING = { ttlMs: 60_000, heartbeatMs: 15_000, renewDeadlineMs: 40_000, stopMarginMs: 20_000 };
const fence: Fence = { runId: 'run' as RunId, leaseId: 'lease' as LeaseId, fencingToken: '7' };
const identity = { provider: 'test', marker: 'm', processes: [] };

function bookWith(trustedUntilMs: number): LeaseBook {
  const book = new LeaseBook(TIMING);
  book.hold(fence, trustedUntilMs);
  return book;
}

describe('the timing of a lease', () => {
  it('INV-LE5: is refused where a heartbeat is more than a quarter of the TTL, or the TTL less than 1.5 renew deadlines', () => {
    expect(() => assertLeaseTiming(TIMING)).not.toThrow();
    expect(() => assertLeaseTiming({ ...TIMING, heartbeatMs: 15_001 })).toThrow(LeaseTimingError);
    expect(() => assertLeaseTiming({ ...TIMING, renewDeadlineMs: 40_001 })).toThrow(LeaseTimingError);
    expect(() => assertLeaseTiming({ ...TIMING, stopMarginMs: 20_001 })).toThrow(LeaseTimingError);
    expect(() => assertLeaseTiming({ ...TIMING, heartbeatMs: 9_000, renewDeadlineMs: 9_000 })).toThrow(
      LeaseTimingError,
    );
  });

  it('is trusted for the TTL less the margin, and never beyond the renew deadline', () => {
    expect(trustWindowMs(TIMING)).toBe(40_000);
    expect(trustWindowMs({ ...TIMING, renewDeadlineMs: 30_000 })).toBe(30_000);
  });
});

describe('what the keeper believes of a lease', () => {
  it('INV-LE5: trust counts from before the renewal was sent, however late its answer came', () => {
    const book = bookWith(40_000);
    const { news } = book.answered('lease', 10_000, 39_000, 'renewed', null);
    expect(news).toEqual([{ kind: 'renewed', leaseId: 'lease', trustedUntilMs: 50_000 }]);
    expect(book.lapse(49_999).news).toEqual([]);
    expect(book.lapse(50_000).news).toMatchObject([{ kind: 'ended', why: 'trust-lost' }]);
  });

  it('an answer that arrives after trust was lost brings nothing back', () => {
    const book = bookWith(40_000);
    book.lapse(40_000);
    expect(book.answered('lease', 39_000, 40_001, 'renewed', null).news).toEqual([]);
    expect(book.due(41_000, true)).toEqual([]);
  });

  it('an older answer never takes back what a newer one gave', () => {
    const book = bookWith(40_000);
    book.answered('lease', 20_000, 20_100, 'renewed', null);
    const { news } = book.answered('lease', 5_000, 20_200, 'renewed', null);
    expect(news).toMatchObject([{ trustedUntilMs: 60_000 }]);
  });

  it('Q15: lost ends it at once and its sandbox with it', () => {
    const book = bookWith(40_000);
    book.sandbox('lease', identity);
    expect(book.answered('lease', 1, 2, 'lost', null)).toEqual({
      news: [{ kind: 'ended', leaseId: 'lease', runId: 'run', why: 'lost' }],
      kill: [identity],
    });
  });

  it('a sandbox that starts for a lease that has ended, or that nobody holds, is killed', () => {
    const book = bookWith(40_000);
    book.lapse(40_000);
    expect(book.sandbox('lease', identity).kill).toEqual([identity]);
    expect(book.sandbox('unknown', identity).kill).toEqual([identity]);
    expect(bookWith(40_000).sandbox('lease', identity).kill).toEqual([]);
  });

  it('expired suspends: nothing may start, it is asked again in a second, and a renewal lifts it', () => {
    const book = bookWith(40_000);
    const asked = book.due(0, true);
    book.asked(asked);
    expect(book.answered('lease', 0, 100, 'expired', null).news).toEqual([
      { kind: 'suspended', leaseId: 'lease' },
    ]);
    expect(book.due(1_099, false)).toEqual([]);
    expect(book.due(1_100, false)).toEqual([fence]);
    expect(book.answered('lease', 1_100, 1_150, 'renewed', null).news).toMatchObject([{ kind: 'renewed' }]);
  });

  it('busy is asked again in a second and costs no trust', () => {
    const book = bookWith(40_000);
    expect(book.answered('lease', 0, 100, 'busy', null)).toEqual({ news: [], kill: [] });
    expect(book.nextMs()).toBe(1_100);
  });

  it('Q5: a cancel renews the lease, tells, and kills the sandbox; a drain kills nothing', () => {
    const book = bookWith(40_000);
    book.sandbox('lease', identity);
    const cancelled = book.answered('lease', 10, 20, 'control', 'cancel');
    expect(cancelled.news.map((news) => news.kind)).toEqual(['renewed', 'control']);
    expect(cancelled.kill).toEqual([identity]);
    expect(book.answered('lease', 10, 20, 'control', 'drain').kill).toEqual([]);
  });

  it('a lease that is let run out is renewed no more', () => {
    const book = bookWith(40_000);
    book.letRunOut('lease');
    expect(book.due(1, true)).toEqual([]);
    expect(book.answered('lease', 30_000, 30_001, 'renewed', null).news).toEqual([]);
    expect(book.lapse(40_000).news).toMatchObject([{ kind: 'ended', why: 'trust-lost' }]);
  });

  it('INV-LE5: whatever is answered in whatever order, trust never exceeds the last sending plus the window', () => {
    const step = fc.record({
      sentAtMs: fc.integer({ min: 0, max: 200_000 }),
      lateMs: fc.integer({ min: 0, max: 120_000 }),
      answer: fc.constantFrom<BeatAnswer>('renewed', 'control', 'busy', 'expired', 'lost'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const book = bookWith(trustWindowMs(TIMING));
        let lastRenewalMs = 0;
        let hasEnded = false;
        let nowMs = 0;
        for (const { sentAtMs, lateMs, answer } of steps) {
          nowMs = Math.max(nowMs, sentAtMs + lateMs);
          hasEnded ||= book.lapse(nowMs).news.some((news) => news.kind === 'ended');
          const { news } = book.answered('lease', sentAtMs, nowMs, answer, null);
          if (hasEnded) expect(news).toEqual([]);
          if (news.some((one) => one.kind === 'renewed')) lastRenewalMs = Math.max(lastRenewalMs, sentAtMs);
          hasEnded ||= news.some((one) => one.kind === 'ended');
          const nextMs = book.nextMs();
          if (!hasEnded) expect(nextMs).toBeLessThanOrEqual(lastRenewalMs + trustWindowMs(TIMING));
        }
      }),
    );
  });
});
