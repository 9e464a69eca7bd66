import type { Clock, LeaseId, RunId } from '@headgate/domain';
import { describe, expect, it } from 'vitest';
import { HeldLease } from '../src/keeper/held-lease.js';

class FakeClock implements Clock {
  ms = 0;
  now(): Date {
    return new Date(this.ms);
  }
  monotonicMs(): number {
    return this.ms;
  }
}

const fence = { runId: 'run' as RunId, leaseId: 'lease' as LeaseId, fencingToken: '1' };

function held(trustedUntilMs: number): { lease: HeldLease; clock: FakeClock } {
  const clock = new FakeClock();
  return { lease: new HeldLease(fence, trustedUntilMs, clock), clock };
}

describe('a lease as the code under it sees it', () => {
  it('INV-LE5: judges by the clock when it is asked, though no message has come', () => {
    const { lease, clock } = held(1_000);
    expect(lease.stop).toBeNull();
    clock.ms = 1_000;
    expect(lease.stop).toEqual({ kind: 'gone', why: 'trust-lost' });
    expect(lease.goneSignal.aborted).toBe(true);
  });

  it('a renewal that was answered before a freeze and is read after it does not bring the lease back', () => {
    const { lease, clock } = held(1_000);
    clock.ms = 1_500;
    lease.renewed(9_000);
    expect(lease.isGone).toBe(true);
    expect(lease.trustedForMs).toBe(0);
  });

  it('Q5: a cancel stops the work and leaves the right to say how it ended', () => {
    const { lease } = held(1_000);
    lease.control('cancel');
    expect(lease.stop).toEqual({ kind: 'cancel' });
    expect(lease.stopSignal.aborted).toBe(true);
    expect(lease.goneSignal.aborted).toBe(false);
  });

  it('a cancel outweighs a hand-back, and a lease that is gone outweighs both', () => {
    const { lease } = held(1_000);
    lease.handBack();
    lease.control('supersede');
    expect(lease.stop).toEqual({ kind: 'cancel' });
    lease.handBack();
    expect(lease.stop).toEqual({ kind: 'cancel' });
    lease.end('lost');
    lease.control('cancel');
    expect(lease.stop).toEqual({ kind: 'gone', why: 'lost' });
  });

  it('while suspended nothing starts; a renewal lets it, the end of trust stops it', async () => {
    const first = held(1_000);
    first.lease.suspend();
    let isSettled = false;
    const settled = first.lease.settled().then((stop) => {
      isSettled = true;
      return stop;
    });
    await Promise.resolve();
    expect(isSettled).toBe(false);
    first.lease.renewed(2_000);
    expect(await settled).toBeNull();

    const second = held(1_000);
    second.lease.suspend();
    const ended = second.lease.settled();
    second.lease.end('lost');
    expect(await ended).toEqual({ kind: 'gone', why: 'lost' });
  });

  it('a lease found gone while its finish is under way may be its own doing; one that lapsed is not', () => {
    const { lease, clock } = held(1_000);
    lease.finishing();
    lease.end('lost');
    expect(lease.isGone).toBe(false);
    clock.ms = 1_000;
    expect(lease.isGone).toBe(true);
  });
});
