import { createLogger } from '@headgate/telemetry';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Loop, type TickResult } from '../src/index.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** When each tick came, in ms from the start; the last result is given for ever. */
async function ticksOf(results: readonly TickResult[], forMs: number): Promise<readonly number[]> {
  const startedMs = Date.now();
  const ticks: number[] = [];
  const loop = new Loop({
    name: 'test',
    periodMs: 1_000,
    idlePeriodMs: 2_500,
    logger: createLogger('test', { level: 'silent' }),
    tick: () => {
      ticks.push(Date.now() - startedMs);
      return Promise.resolve(results[ticks.length - 1] ?? results.at(-1) ?? 'idle');
    },
  });
  loop.start();
  await vi.advanceTimersByTimeAsync(forMs);
  const stopped = loop.stop();
  await vi.runAllTimersAsync();
  await stopped;
  return ticks;
}

test('the pause of a loop grows while there is nothing, up to its bound', async () => {
  expect(await ticksOf(['idle'], 10_000)).toEqual([0, 1_000, 2_500, 4_750, 7_250, 9_750]);
});

test('it does not grow while something waits, and begins anew after that', async () => {
  expect(await ticksOf(['idle', 'idle', 'waiting', 'waiting', 'idle'], 8_000)).toEqual([
    0, 1_000, 2_500, 3_500, 4_500, 5_500, 7_000,
  ]);
});

test('a tick that was busy is followed at once', async () => {
  expect(await ticksOf(['busy', 'busy', 'idle'], 500)).toEqual([0, 0, 0]);
});
