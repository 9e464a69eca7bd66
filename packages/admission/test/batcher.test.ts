import { describe, expect, it } from 'vitest';
import { Batcher, type BatcherOptions, OverloadedError } from '../src/batcher.js';

interface Held {
  readonly batch: readonly number[];
  release(): void;
  fail(fault: Error): void;
}

/** A writer whose batches wait until the test lets them go. */
function aBatcher(change: Partial<BatcherOptions<number, number>> = {}) {
  const held: Held[] = [];
  const batcher = new Batcher<number, number>({
    maxBatch: 3,
    maxBatchWeight: 100,
    maxInFlight: 1,
    maxWaiting: 5,
    maxWaitingWeight: 1_000,
    weigh: (item) => item,
    write: (batch) =>
      new Promise((resolve, reject) => {
        held.push({
          batch,
          release: () => resolve(batch.map((value) => ({ status: 'fulfilled', value: value * 10 }))),
          fail: reject,
        });
      }),
    ...change,
  });
  return { batcher, held };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('batcher', () => {
  it('what arrives together goes together, and what arrives meanwhile goes next', async () => {
    const { batcher, held } = aBatcher();
    const first = [batcher.submit(1), batcher.submit(2)];
    await turn();
    const later = [batcher.submit(3), batcher.submit(4), batcher.submit(5), batcher.submit(6)];
    await turn();
    expect(held.map((one) => one.batch)).toEqual([[1, 2]]);
    held[0]?.release();
    expect(await Promise.all(first)).toEqual([10, 20]);
    await turn();
    expect(held[1]?.batch).toEqual([3, 4, 5]);
    held[1]?.release();
    await Promise.all(later.slice(0, 3));
    await turn();
    held[2]?.release();
    expect(await later[3]).toBe(60);
  });

  it('is cut by weight, and takes one item whatever it weighs', async () => {
    const { batcher, held } = aBatcher();
    void batcher.submit(60);
    void batcher.submit(50);
    void batcher.submit(500);
    await turn();
    expect(held.at(-1)?.batch).toEqual([60]);
    held.at(-1)?.release();
    await turn();
    await turn();
    expect(held.at(-1)?.batch).toEqual([50]);
    held.at(-1)?.release();
    await turn();
    await turn();
    expect(held.at(-1)?.batch).toEqual([500]);
    held.at(-1)?.release();
  });

  it('refuses at once when too many, or too much, wait', async () => {
    const { batcher, held } = aBatcher();
    const all = [1, 2, 3, 4, 5].map((item) => batcher.submit(item));
    await expect(batcher.submit(6)).rejects.toBeInstanceOf(OverloadedError);
    await turn();
    const heavy = batcher.submit(900);
    await expect(batcher.submit(900)).rejects.toBeInstanceOf(OverloadedError);
    while (held.length < 3) {
      held.at(-1)?.release();
      await turn();
      await turn();
    }
    held.at(-1)?.release();
    await Promise.all([...all, heavy]);
  });

  it('a write that fails fails each of its batch, and the next batch goes on', async () => {
    const { batcher, held } = aBatcher();
    const lost = batcher.submit(1);
    await turn();
    held[0]?.fail(new Error('gone'));
    await expect(lost).rejects.toThrow('gone');
    const next = batcher.submit(2);
    await turn();
    held[1]?.release();
    expect(await next).toBe(20);
  });

  it('is idle when nothing waits and nothing is in flight', async () => {
    const { batcher, held } = aBatcher();
    await batcher.idle();
    const order: string[] = [];
    const answer = batcher.submit(1).then(() => order.push('answered'));
    const idle = batcher.idle().then(() => order.push('idle'));
    await turn();
    held[0]?.release();
    await Promise.all([answer, idle]);
    expect(order).toEqual(['answered', 'idle']);
  });
});
