import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  boundReached,
  decideGoal,
  type GoalProgress,
  isAddressRange,
  isPublicAddress,
  isWithin,
  MOST_UNKNOWNS,
  type Observed,
} from '../src/index.js';

const START = new Date('2026-03-01T00:00:00Z');
const HOUR_MS = 3_600_000;
const stop = { maxRuns: 3, deadlineMs: 24 * HOUR_MS, noProgress: 2, maxCostUsd: 10 };
const progress = (change: Partial<GoalProgress> = {}): GoalProgress => ({
  startedAt: START,
  runs: 0,
  costUsd: 0,
  noProgress: 0,
  unknowns: 0,
  ranSince: false,
  fingerprint: null,
  ...change,
});
const open = (fingerprint: string): Observed => ({ kind: 'open', fingerprint });
const unknown: Observed = { kind: 'unknown', detail: 'It timed out.' };
const later = (hours: number) => new Date(START.getTime() + hours * HOUR_MS);
const decide = (change: Partial<GoalProgress>, observed: Observed, hours = 1) =>
  decideGoal({ stop }, progress(change), observed, later(hours));

describe('a goal', () => {
  it('I2: is done when its condition holds, also when a bound is reached at the same time', () => {
    expect(decide({ runs: 3 }, { kind: 'holds' }, 30).step).toEqual({ kind: 'done' });
  });

  it('I2: lets the agent work while it is open and no bound is reached', () => {
    expect(decide({ runs: 2, noProgress: 1, costUsd: 9.99 }, open('a')).step).toEqual({ kind: 'work' });
  });

  it.each([
    ['maxRuns', { runs: 3 }, 1, '3 of 3 times'],
    ['maxCostUsd', { costUsd: 10 }, 1, '10 USD of 10'],
    ['noProgress', { runs: 2, noProgress: 1, ranSince: true, fingerprint: 'a' }, 1, '2 runs in a row'],
    ['deadline', {}, 24, '2026-03-02T00:00:00.000Z'],
  ] as const)('I2: is given up at %s, and says the numbers', (bound, change, hours, words) => {
    expect(decide(change, open('a'), hours).step).toEqual({
      kind: 'give-up',
      reached: { bound, detail: expect.stringContaining(words) },
    });
  });

  it('I2: progress is another observation after a run; looking again without a run is neither', () => {
    expect(decide({ noProgress: 1, ranSince: true, fingerprint: 'a' }, open('b')).progress.noProgress).toBe(
      0,
    );
    expect(decide({ noProgress: 1, ranSince: false, fingerprint: 'a' }, open('a')).progress.noProgress).toBe(
      1,
    );
  });

  it('I2: an observation that says nothing is neither done nor open; several in a row need a person', () => {
    const once = decide({ ranSince: true, fingerprint: 'a' }, unknown);
    expect(once).toEqual({
      step: { kind: 'look-again' },
      progress: { noProgress: 0, unknowns: 1, ranSince: true, fingerprint: 'a' },
    });
    expect(decide({ unknowns: MOST_UNKNOWNS - 1 }, unknown).step).toMatchObject({
      kind: 'pause',
      detail: expect.stringContaining('It timed out.'),
    });
    expect(decide({}, unknown, 25).step).toMatchObject({ kind: 'give-up', reached: { bound: 'deadline' } });
  });

  it('I2: whatever is observed, it ends within its bounds', () => {
    const observed = fc.array(fc.constantFrom<Observed>(open('a'), open('b'), unknown), {
      minLength: 40,
      maxLength: 60,
    });
    fc.assert(
      fc.property(observed, fc.nat(4), (looks, costUsd) => {
        let now = progress();
        let runs = 0;
        for (const [at, look] of looks.entries()) {
          const { step, progress: after } = decideGoal({ stop }, now, look, later(at));
          now = { ...now, ...after };
          if (step.kind === 'give-up' || step.kind === 'pause') {
            expect(runs).toBeLessThanOrEqual(stop.maxRuns);
            return;
          }
          if (step.kind !== 'work') continue;
          expect(boundReached(stop, now, later(at))).toBeNull();
          runs += 1;
          now = { ...now, runs, costUsd: now.costUsd + costUsd, ranSince: true };
        }
        throw new Error('it never ended');
      }),
    );
  });
});

describe('addresses', () => {
  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.31.255.255',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '198.18.0.1',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    'fc00::1',
    'ff02::1',
    '::ffff:8.8.8.8',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001::1',
    '2001:db8::1',
    'localhost',
    '',
  ])('security 11: %j is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each(['8.8.8.8', '172.32.0.1', '11.0.0.1', '2606:4700::1111'])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it('security 11: ranges are an address or a network, and hold what lies in them', () => {
    expect(isWithin('10.1.2.3', ['10.0.0.0/8'])).toBe(true);
    expect(isWithin('11.1.2.3', ['10.0.0.0/8', 'fd00::/8'])).toBe(false);
    expect(isWithin('fd12::1', ['fd00::/8'])).toBe(true);
    expect(isWithin('127.0.0.1', ['127.0.0.1'])).toBe(true);
    expect(isWithin('127.0.0.2', ['127.0.0.1'])).toBe(false);
    for (const wrong of ['10.0.0.0/33', '10.0.0', 'fd00::/129', 'host', '10.0.0.0/8/8', '10.0.0.0/-1', '']) {
      expect(isAddressRange(wrong), wrong).toBe(false);
    }
  });
});
