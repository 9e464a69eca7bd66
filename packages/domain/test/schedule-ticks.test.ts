import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CatchUp,
  type DueTicks,
  dueTicks as dueTicksOf,
  jitterOf,
  ON_TIME_MS,
  parseCadence,
  type ScheduleTimes,
} from '../src/index.js';

const NONE: CatchUp = { mode: 'none', windowMs: 0, max: 1 };
const LATEST: CatchUp = { mode: 'latest', windowMs: 3_600_000, max: 1 };
const ALL: CatchUp = { mode: 'all', windowMs: 30 * 60_000, max: 5 };
const at = (text: string) => new Date(`2026-03-01T${text}Z`);
interface Asked extends Partial<ScheduleTimes> {
  readonly lastNominalAt: Date | null;
  readonly now: Date;
  readonly catchUp?: CatchUp;
  readonly jitterMs?: number;
  readonly scheduleId?: string;
  readonly anchor?: Date;
}
const due = (asked: Asked): DueTicks => {
  const { lastNominalAt, now, catchUp = NONE, jitterMs = 0, scheduleId = 's', anchor, ...times } = asked;
  const schedule = { times: aSchedule(times), anchor: anchor ?? new Date(0) };
  return dueTicksOf({ schedule, lastNominalAt, now, catchUp, jitterMs, scheduleId });
};
const aSchedule = (times: Partial<ScheduleTimes>): ScheduleTimes => ({
  cron: '*/10 * * * *',
  timezone: 'UTC',
  startAt: null,
  endAt: null,
  exclude: [],
  ...times,
});
const times = (dates: readonly Date[]) => dates.map((date) => date.toISOString().slice(11, 19));

describe('on time', () => {
  it('I2: a new schedule starts now and has missed nothing', () => {
    const result = due({ lastNominalAt: null, now: at('12:05:00') });
    expect(result).toEqual({
      run: [],
      missed: null,
      excluded: null,
      nextAt: at('12:10:00'),
      lastNominalAt: at('12:05:00'),
    });
    const later = due({ lastNominalAt: result.lastNominalAt, now: at('12:10:00.400') });
    expect(times(later.run)).toEqual(['12:10:00']);
  });

  it('I2: before its time nothing is due, at its time one tick is, and then nothing again', () => {
    const last = at('12:00:00');
    expect(due({ lastNominalAt: last, now: at('12:09:59.999') }).run).toEqual([]);
    const fired = due({ lastNominalAt: last, now: at('12:10:00') });
    expect(times(fired.run)).toEqual(['12:10:00']);
    expect(fired.missed).toBeNull();
    expect(fired.nextAt).toEqual(at('12:20:00'));
    expect(due({ lastNominalAt: fired.lastNominalAt, now: at('12:10:01') }).run).toEqual([]);
  });

  it('I2: a clock that goes back fires nothing again', () => {
    const result = due({ lastNominalAt: at('12:10:00'), now: at('11:00:00') });
    expect(result).toEqual({
      run: [],
      missed: null,
      excluded: null,
      nextAt: at('12:20:00'),
      lastNominalAt: at('12:10:00'),
    });
  });
});

describe('after downtime', () => {
  const down = { lastNominalAt: at('12:00:00'), now: at('13:05:00') };

  it('I2: none: all are missed, with range and number', () => {
    expect(due(down)).toMatchObject({
      run: [],
      missed: { from: at('12:10:00'), to: at('13:00:00'), count: 6 },
      lastNominalAt: at('13:00:00'),
      nextAt: at('13:10:00'),
    });
  });

  it('I2: none: the newest still runs when it is only seconds late', () => {
    const result = due({ ...down, now: at('13:00:30') });
    expect(times(result.run)).toEqual(['13:00:00']);
    expect(result.missed).toMatchObject({ to: at('12:50:00'), count: 5 });
  });

  it('I2: latest: the newest runs, unless it lies outside the window', () => {
    const result = due({ ...down, catchUp: LATEST });
    expect(times(result.run)).toEqual(['13:00:00']);
    expect(result.missed).toMatchObject({ from: at('12:10:00'), to: at('12:50:00'), count: 5 });
    const narrow = due({ ...down, catchUp: { ...LATEST, windowMs: 60_000 } });
    expect(narrow).toMatchObject({ run: [], missed: { count: 6 } });
  });

  it('I2: all: those inside the window, oldest first, at most max', () => {
    const result = due({ ...down, catchUp: ALL });
    expect(times(result.run)).toEqual(['12:40:00', '12:50:00', '13:00:00']);
    expect(result.missed).toMatchObject({ from: at('12:10:00'), to: at('12:30:00'), count: 3 });
    const bounded = due({ ...down, catchUp: { ...ALL, max: 2 } });
    expect(times(bounded.run)).toEqual(['12:50:00', '13:00:00']);
    expect(bounded.missed).toMatchObject({ to: at('12:40:00'), count: 4 });
  });

  it('kubernetes #42649: 101 minutes down under a per-minute schedule: it resumes and the misses are counted', () => {
    const result = due({
      cron: '* * * * *',
      lastNominalAt: at('12:00:00'),
      now: at('13:41:00'),
      catchUp: LATEST,
    });
    expect(times(result.run)).toEqual(['13:41:00']);
    expect(result.missed?.count).toBe(100);
    expect(result.nextAt).toEqual(at('13:42:00'));
  });

  it('I2: three months under a per-minute schedule in a zone with summer time are counted exactly', () => {
    const result = due({
      cron: '* * * * *',
      timezone: 'Europe/Berlin',
      lastNominalAt: new Date('2026-01-15T00:00:00Z'),
      now: new Date('2026-04-15T00:00:30Z'),
      catchUp: ALL,
    });
    expect(result.run).toHaveLength(5);
    expect(result.run.length + (result.missed?.count ?? 0)).toBe(90 * 1_440);
  });

  it('I2: a year of @every 1s costs nothing and is counted exactly', () => {
    const result = due({
      cron: '@every 1s',
      lastNominalAt: new Date('2025-03-01T00:00:00Z'),
      now: new Date('2026-03-01T00:00:00Z'),
      catchUp: ALL,
    });
    expect(result.run.length + (result.missed?.count ?? 0)).toBe(365 * 86_400);
  });
});

describe('jitter', () => {
  it('I2: is the same on every replica, lies below its bound, and differs by schedule and time', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.nat(2_000_000_000),
        fc.integer({ min: 1, max: 600_000 }),
        (id, nominal, bound) => {
          const jitter = jitterOf(id, nominal, bound);
          expect(jitter).toBe(jitterOf(id, nominal, bound));
          expect(jitter).toBeGreaterThanOrEqual(0);
          expect(jitter).toBeLessThan(bound);
        },
      ),
    );
    const spread = new Set(Array.from({ length: 50 }, (_, index) => jitterOf('s', index * 60_000, 60_000)));
    expect(spread.size).toBeGreaterThan(40);
    expect(jitterOf('s', 0, 0)).toBe(0);
  });

  it('I2: a tick fires at its nominal time plus jitter, and keeps its nominal time', () => {
    const jittered = { scheduleId: 's', jitterMs: 300_000, lastNominalAt: at('12:00:00') };
    const fireAt = new Date(at('12:10:00').getTime() + jitterOf('s', at('12:10:00').getTime(), 300_000));
    const before = due({ ...jittered, now: new Date(fireAt.getTime() - 1) });
    expect(before).toMatchObject({ run: [], nextAt: fireAt, lastNominalAt: at('12:00:00') });
    const after = due({ ...jittered, now: fireAt });
    expect(times(after.run)).toEqual(['12:10:00']);
  });
});

describe('what holds for every history of ticks', () => {
  const catchUp: fc.Arbitrary<CatchUp> = fc.record({
    mode: fc.constantFrom('none' as const, 'latest' as const, 'all' as const),
    windowMs: fc.integer({ min: 0, max: 3 * 3_600_000 }),
    max: fc.integer({ min: 1, max: 8 }),
  });
  const setup = fc.record({
    cron: fc.constantFrom('*/10 * * * *', '@every 7m', '0 * * * *', '30 2 * * *'),
    timezone: fc.constantFrom('UTC', 'Europe/Berlin'),
    jitterMs: fc.constantFrom(0, 30_000, 900_000),
    catchUp,
    scheduleId: fc.constant('s'),
  });
  /** Steps of the clock, backwards too. */
  const moves = fc.array(fc.integer({ min: -1_800_000, max: 4 * 3_600_000 }), {
    minLength: 1,
    maxLength: 12,
  });
  const START = Date.parse('2026-03-28T20:00:00Z');

  it('INV-SC1, INV-SC2: each nominal time is settled once, as run or as missed, whatever the clock does', () => {
    fc.assert(
      fc.property(setup, moves, (schedule, steps) => {
        let last = new Date(START);
        let nowMs = START;
        let settled = 0;
        const ran: number[] = [];
        for (const step of steps) {
          nowMs += step;
          const result = due({ ...schedule, lastNominalAt: last, now: new Date(nowMs) });
          expect(result.lastNominalAt.getTime()).toBeGreaterThanOrEqual(last.getTime());
          settled += result.run.length + (result.missed?.count ?? 0);
          for (const nominal of result.run) {
            expect(nominal.getTime()).toBeGreaterThan(ran.at(-1) ?? START);
            expect(
              nominal.getTime() + jitterOf('s', nominal.getTime(), schedule.jitterMs),
            ).toBeLessThanOrEqual(nowMs);
            if (result.missed !== null) {
              expect(nominal.getTime()).toBeGreaterThan(result.missed.to.getTime());
            }
            ran.push(nominal.getTime());
          }
          if (result.nextAt !== null && result.run.length === 0) {
            expect(result.nextAt.getTime()).toBeGreaterThan(Math.min(nowMs, last.getTime()));
          }
          last = result.lastNominalAt;
        }
        const parsed = parseCadence(schedule.cron, schedule.timezone);
        if (!parsed.ok) throw new Error(parsed.problem);
        expect(settled).toBe(parsed.cadence.count(START, last.getTime()));
      }),
      { numRuns: 150 },
    );
  });

  it('I2: no more ticks run at once than the rule allows, and none that is older than it allows', () => {
    fc.assert(
      fc.property(setup, fc.integer({ min: 0, max: 3 * 86_400_000 }), (schedule, downMs) => {
        const nowMs = START + downMs;
        const { run } = due({ ...schedule, lastNominalAt: new Date(START), now: new Date(nowMs) });
        const { mode, max, windowMs } = schedule.catchUp;
        expect(run.length).toBeLessThanOrEqual(mode === 'all' ? max : 1);
        for (const nominal of run) {
          const fires = nominal.getTime() + jitterOf('s', nominal.getTime(), schedule.jitterMs);
          const isOnTime = nowMs - fires <= ON_TIME_MS;
          // The window counts from the jittered time, and times between two that are caught up are as well.
          const isCaughtUp = mode !== 'none' && nowMs - nominal.getTime() <= windowMs + schedule.jitterMs;
          expect(isOnTime || isCaughtUp).toBe(true);
        }
      }),
      { numRuns: 150 },
    );
  });
});
