import type { LeaseId, RunId, WorkerId } from '@headgate/domain';
import type { SandboxIdentity } from '@headgate/runtimes';
import type { BeatResult, Fence } from '@headgate/store';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BeatLoop } from '../src/keeper/beat-loop.js';
import { LeaseBook } from '../src/keeper/lease-book.js';
import type { FromKeeper } from '../src/keeper/messages.js';

const TIMING = { ttlMs: 60_000, heartbeatMs: 15_000, renewDeadlineMs: 40_000, stopMarginMs: 20_000 };
const fence: Fence = { runId: 'run' as RunId, leaseId: 'lease' as LeaseId, fencingToken: '7' };
const WORKER = 'worker' as WorkerId;
const identity: SandboxIdentity = { provider: 'test', marker: 'm', processes: [] };

const renewed = (): BeatResult => ({
  leases: new Map([[fence.runId, { answer: 'renewed', control: null }]]),
  workerState: 'READY',
});

/** The loop with time that only moves when told; timers and clock move together. */
function loopWith(beat: () => Promise<BeatResult>) {
  const book = new LeaseBook(TIMING);
  const said: FromKeeper[] = [];
  const killed: SandboxIdentity[] = [];
  const lapsed: Fence[] = [];
  const sentAtMs: number[] = [];
  const state = { mainTurnMs: () => Date.now() };
  const loop = new BeatLoop(
    {
      clock: { now: () => new Date(), monotonicMs: () => Date.now() },
      book,
      beat: () => {
        sentAtMs.push(Date.now());
        return beat();
      },
      mainTurnMs: () => state.mainTurnMs(),
      kill: (one) => killed.push(one),
      tell: (message) => said.push(message),
      onLapse: (one) => lapsed.push(one),
    },
    TIMING,
  );
  return { book, loop, said, killed, lapsed, sentAtMs, state };
}

describe('the keeper loop', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('sends one statement per beat for all leases, and none while it has no worker', async () => {
    const { book, loop, sentAtMs } = loopWith(async () => renewed());
    book.hold(fence, Date.now() + 40_000);
    loop.turn();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(sentAtMs).toEqual([]);
    loop.workerId = WORKER;
    await vi.advanceTimersByTimeAsync(45_000);
    loop.stop();
    expect(sentAtMs).toEqual([1_015_000, 1_030_000, 1_045_000, 1_060_000]);
  });

  it('INV-LE5: a main loop that is silent for two beats is renewed for no more; its sandbox dies when trust ends', async () => {
    const { book, loop, said, killed, lapsed, sentAtMs, state } = loopWith(async () => renewed());
    book.hold(fence, Date.now() + 40_000);
    book.sandbox('lease', identity);
    loop.workerId = WORKER;
    await vi.advanceTimersByTimeAsync(100);
    const blockedAtMs = Date.now();
    state.mainTurnMs = () => blockedAtMs;
    await vi.advanceTimersByTimeAsync(120_000);
    loop.stop();
    expect(Math.max(...sentAtMs)).toBeLessThanOrEqual(blockedAtMs + 30_000);
    expect(said.some((message) => message.kind === 'main-silent')).toBe(true);
    expect(killed).toEqual([identity]);
    expect(lapsed).toEqual([fence]);
    expect(said).toContainEqual({
      kind: 'news',
      news: [{ kind: 'ended', leaseId: 'lease', runId: 'run', why: 'trust-lost' }],
    });
  });

  it('Q15: Postgres away for good: it asks every second, and trust ends 40 s after the last renewal was sent', async () => {
    let isAway = false;
    const { book, loop, lapsed, sentAtMs } = loopWith(async () => {
      if (isAway) throw new Error('connection refused');
      return renewed();
    });
    book.hold(fence, Date.now() + 40_000);
    loop.workerId = WORKER;
    await vi.advanceTimersByTimeAsync(15_000);
    const lastRenewalMs = Math.max(...sentAtMs);
    isAway = true;
    await vi.advanceTimersByTimeAsync(39_000);
    expect(lapsed).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_001);
    loop.stop();
    expect(lapsed).toEqual([fence]);
    expect(Date.now()).toBeGreaterThanOrEqual(lastRenewalMs + 40_000);
    expect(sentAtMs.filter((ms) => ms > lastRenewalMs).length).toBeGreaterThan(20);
  });

  it('a beat that hangs does not stop the next one', async () => {
    let calls = 0;
    const { book, loop, sentAtMs, lapsed } = loopWith(() => {
      calls += 1;
      return calls === 2 ? new Promise(() => {}) : Promise.resolve(renewed());
    });
    book.hold(fence, Date.now() + 40_000);
    loop.workerId = WORKER;
    await vi.advanceTimersByTimeAsync(120_000);
    loop.stop();
    expect(sentAtMs.length).toBeGreaterThan(6);
    expect(lapsed).toEqual([]);
  });

  it('Q5: a cancel is told and its sandbox killed, whether or not anybody listens', async () => {
    const { book, loop, said, killed } = loopWith(async () => ({
      leases: new Map([[fence.runId, { answer: 'control', control: 'cancel' }]]),
      workerState: 'READY',
    }));
    book.hold(fence, Date.now() + 40_000);
    book.sandbox('lease', identity);
    loop.workerId = WORKER;
    await vi.advanceTimersByTimeAsync(1);
    loop.stop();
    expect(killed).toEqual([identity]);
    expect(said.filter((message) => message.kind === 'news')).toHaveLength(1);
  });
});
