import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { duration, exact, term, took } from '../src/parts/moment.js';

describe('lengths and times as people read them', () => {
  it('has two units at most, each with room for the next', () => {
    expect([0, 41_000, 372_000, 11_100_000, 187_200_000].map(duration)).toEqual([
      '0 s',
      '41 s',
      '6 m 12 s',
      '3 h 05 m',
      '2 d 4 h',
    ]);
    expect(duration(-5_000)).toBe('0 s');
  });

  it('says of what is over how much less than a second it took', () => {
    expect([0, 328.7, 999, 1_000, 61_000].map(took)).toEqual(['0 ms', '328 ms', '999 ms', '1 s', '1 m 01 s']);
  });

  it('leaves out of a configured length what is nothing', () => {
    expect([600_000, 86_400_000, 5_400_000, 30_000, 604_800_000].map(term)).toEqual([
      '10 m',
      '24 h',
      '1 h 30 m',
      '30 s',
      '7 d',
    ]);
  });

  it('never says more than has passed, and less by a unit at most', () => {
    const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
    fc.assert(
      fc.property(fc.nat(400 * 86_400_000), (ms) => {
        const parts = [...duration(ms).matchAll(/(\d+) ([smhd])/g)];
        const said = parts.reduce((sum, [, n, unit]) => sum + Number(n) * (unitMs[unit ?? ''] ?? 0), 0);
        const smallest = unitMs[parts.at(-1)?.[2] ?? ''] ?? 0;
        expect(said).toBeLessThanOrEqual(ms);
        expect(ms - said).toBeLessThan(smallest);
      }),
    );
  });

  it('names the day of every time that is not of today, and the second always', () => {
    const now = new Date(2026, 10, 30, 14, 3, 11);
    expect(exact(new Date(2026, 10, 30, 9, 5, 7).toISOString(), now)).toBe('09:05:07');
    expect(exact(new Date(2026, 10, 29, 23, 59, 59).toISOString(), now)).toBe('2026-11-29 23:59:59');
  });
});
