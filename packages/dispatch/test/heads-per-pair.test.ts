import fc from 'fast-check';
import { expect, test } from 'vitest';
import { headsPerPair } from '../src/index.js';

test('a turn reads heads for what it can start: few where few slots are free, whatever waits', () => {
  expect(headsPerPair(1, 1)).toBe(40);
  expect(headsPerPair(1, 50)).toBe(100);
  expect(headsPerPair(1, 500)).toBe(200);
  expect(headsPerPair(200, 50)).toBe(1);
  expect(headsPerPair(10, 1_000)).toBe(80);
});

test('at least one head of each pair, and never more than 800 above that', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 200 }), fc.nat(10_000), (pairs, freeSlots) => {
      const heads = headsPerPair(pairs, freeSlots);
      expect(heads).toBeGreaterThanOrEqual(1);
      expect(heads * Math.max(1, pairs)).toBeLessThanOrEqual(800);
    }),
  );
});
