/** The calendar's corners, where schedules of others have been wrong. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundOf, Exclusions, nextTicks, type ScheduleTimes, ticksIn } from '../src/index.js';

const aSchedule = (times: Partial<ScheduleTimes>): ScheduleTimes => ({
  cron: '0 0 * * *',
  timezone: 'UTC',
  startAt: null,
  endAt: null,
  exclude: [],
  ...times,
});
const next = (times: Partial<ScheduleTimes>, after: string, count: number) =>
  nextTicks({ times: aSchedule(times), anchor: new Date(0) }, new Date(after), count).map((at) =>
    at.toISOString().replace('.000Z', 'Z'),
  );

describe('changes of the clock', () => {
  it.each([
    // Spring: 02:00 becomes 03:00. A fixed time runs once, right after the gap.
    ['Europe/Berlin', '30 2 * * *', '2026-03-28T12:00:00Z', ['2026-03-29T01:00:00Z', '2026-03-30T00:30:00Z']],
    // Autumn: 02:30 comes twice. It runs once, the first time.
    ['Europe/Berlin', '30 2 * * *', '2026-10-24T12:00:00Z', ['2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z']],
    // Havana changes at midnight: 8 March 2026 has no 00:00 and begins at 01:00.
    ['America/Havana', '0 0 * * *', '2026-03-07T12:00:00Z', ['2026-03-08T05:00:00Z', '2026-03-09T04:00:00Z']],
    [
      'America/Havana',
      '30 0 * * *',
      '2026-03-07T12:00:00Z',
      ['2026-03-08T05:00:00Z', '2026-03-09T04:30:00Z'],
    ],
    // And 1 November has it twice.
    ['America/Havana', '0 0 * * *', '2026-10-31T12:00:00Z', ['2026-11-01T04:00:00Z', '2026-11-02T05:00:00Z']],
    // Lord Howe shifts by half an hour: 02:00 becomes 02:30 on 4 October 2026.
    [
      'Australia/Lord_Howe',
      '15 2 * * *',
      '2026-10-03T00:00:00Z',
      ['2026-10-03T15:30:00Z', '2026-10-04T15:15:00Z'],
    ],
    [
      'Australia/Lord_Howe',
      '45 1 * * *',
      '2026-04-03T18:00:00Z',
      ['2026-04-04T14:45:00Z', '2026-04-05T15:15:00Z'],
    ],
  ])('I2: %s, %s', (timezone, cron, after, expected) => {
    expect(next({ cron, timezone }, after, 2)).toEqual(expected);
  });

  it('I2: a per-minute schedule has 23 and 25 hours of minutes on those days, and 24.5 on Lord Howe', () => {
    const minutes = (timezone: string, day: string, hours: number) => {
      const after = boundOf(day, timezone, 'start');
      const until = boundOf(day, timezone, 'end');
      if (after === null || until === null) throw new Error('no such day');
      expect(until.getTime() + 1 - after.getTime()).toBe(hours * 3_600_000);
      const range = { after: new Date(after.getTime() - 1), until };
      return ticksIn({ times: aSchedule({ cron: '* * * * *', timezone }), anchor: new Date(0) }, range).kept
        ?.count;
    };
    expect(minutes('Europe/Berlin', '2026-03-29', 23)).toBe(23 * 60);
    expect(minutes('Europe/Berlin', '2026-10-25', 25)).toBe(25 * 60);
    expect(minutes('America/Havana', '2026-03-08', 23)).toBe(23 * 60);
    expect(minutes('America/Havana', '2026-11-01', 25)).toBe(25 * 60);
    expect(minutes('Australia/Lord_Howe', '2026-04-05', 24.5)).toBe(24.5 * 60);
    expect(minutes('UTC', '2026-03-29', 24)).toBe(24 * 60);
  });
});

describe('days that not every month has', () => {
  it('I2: the 31st is passed over in months without one, it is not moved', () => {
    expect(next({ cron: '0 0 31 * *' }, '2026-01-01T00:00:00Z', 4)).toEqual([
      '2026-01-31T00:00:00Z',
      '2026-03-31T00:00:00Z',
      '2026-05-31T00:00:00Z',
      '2026-07-31T00:00:00Z',
    ]);
  });

  it('I2: L is the last day of any month; 29 February comes every four years', () => {
    expect(next({ cron: '0 0 L * *' }, '2026-01-30T00:00:00Z', 3)).toEqual([
      '2026-01-31T00:00:00Z',
      '2026-02-28T00:00:00Z',
      '2026-03-31T00:00:00Z',
    ]);
    expect(next({ cron: '0 0 29 2 *' }, '2026-01-01T00:00:00Z', 2)).toEqual([
      '2028-02-29T00:00:00Z',
      '2032-02-29T00:00:00Z',
    ]);
  });
});

describe('start and end', () => {
  it('I2: both belong to the schedule; before and after there is nothing', () => {
    const times = { startAt: '2026-03-03T00:00:00.000Z', endAt: '2026-03-05T00:00:00.000Z' };
    expect(next(times, '2026-01-01T00:00:00Z', 9)).toEqual([
      '2026-03-03T00:00:00Z',
      '2026-03-04T00:00:00Z',
      '2026-03-05T00:00:00Z',
    ]);
    const all = ticksIn(
      { times: aSchedule(times), anchor: new Date(0) },
      { after: new Date(0), until: new Date('2030-01-01T00:00:00Z') },
    );
    expect(all.kept?.count).toBe(3);
  });

  it('I2: @every counts from its start, and begins with it', () => {
    expect(
      next({ cron: '@every 7d', startAt: '2026-03-02T09:00:00.000Z' }, '2026-01-01T00:00:00Z', 2),
    ).toEqual(['2026-03-02T09:00:00Z', '2026-03-09T09:00:00Z']);
  });

  it('I2: a day is the zone’s: its first and its last instant, also where midnight is skipped or comes twice', () => {
    const bound = (text: string, zone: string, end: 'start' | 'end') =>
      boundOf(text, zone, end)?.toISOString();
    expect(bound('2026-12-01', 'Europe/Berlin', 'start')).toBe('2026-11-30T23:00:00.000Z');
    expect(bound('2026-12-01', 'Europe/Berlin', 'end')).toBe('2026-12-01T22:59:59.999Z');
    expect(bound('2026-03-08', 'America/Havana', 'start')).toBe('2026-03-08T05:00:00.000Z');
    expect(bound('2026-11-01', 'America/Havana', 'start')).toBe('2026-11-01T04:00:00.000Z');
    expect(bound('2026-12-01T08:00:00+01:00', 'UTC', 'start')).toBe('2026-12-01T07:00:00.000Z');
    for (const wrong of ['2026-02-30', 'tomorrow', '2026-13-01', '2026-12-01 08:00']) {
      expect(boundOf(wrong, 'UTC', 'start')).toBeNull();
    }
  });
});

describe('excluded days', () => {
  it('I2: are left out, with their year or in every year, also over the turn of the year', () => {
    expect(next({ exclude: ['2026-12-25'] }, '2026-12-24T00:00:00Z', 2)).toEqual([
      '2026-12-26T00:00:00Z',
      '2026-12-27T00:00:00Z',
    ]);
    expect(next({ exclude: ['12-24/01-02'] }, '2026-12-22T00:00:00Z', 2)).toEqual([
      '2026-12-23T00:00:00Z',
      '2027-01-03T00:00:00Z',
    ]);
    expect(next({ exclude: ['01-01/12-31'] }, '2026-01-01T00:00:00Z', 1)).toEqual([]);
  });

  it('I2: are days of the schedule’s zone', () => {
    const times = { cron: '0 * * * *', timezone: 'Asia/Tokyo', exclude: ['2026-05-05'] };
    expect(next(times, '2026-05-04T14:00:00Z', 1)).toEqual(['2026-05-05T15:00:00Z']);
  });

  it('I2: a year of minutes without weekends of summer is counted exactly, and soon', () => {
    const counted = ticksIn(
      {
        times: aSchedule({ cron: '* * * * *', timezone: 'Europe/Berlin', exclude: ['03-28/10-26', '12-24'] }),
        anchor: new Date(0),
      },
      { after: new Date('2026-01-01T00:00:00Z'), until: new Date('2027-01-01T00:00:00Z') },
    );
    expect((counted.kept?.count ?? 0) + (counted.excluded?.count ?? 0)).toBe(365 * 1_440);
    // 28 March to 26 October are 213 days, one of 23 and one of 25 hours.
    expect(counted.excluded?.count).toBe((213 + 1) * 1_440);
  });

  it.each(['2026-02-30', '13-01', '2026-12-24/01-02', '2026-12-24/2026-12-23', 'friday', '24.12.'])(
    '%j is refused with a sentence',
    (entry) => {
      expect(Exclusions.parse([entry], 'UTC')).toMatchObject({
        ok: false,
        problem: expect.stringContaining(entry),
      });
    },
  );

  it('INV-SC2: what is kept and what is left out are together all, and each time is in one of the two', () => {
    const entry = fc.constantFrom('2026-03-29', '10-25', '03-27/03-30', '10-20/11-02', '2026-03-08', '11-01');
    fc.assert(
      fc.property(
        fc.constantFrom('*/20 * * * *', '0 */3 * * *', '30 2 * * *', '@every 47m'),
        fc.constantFrom('Europe/Berlin', 'America/Havana', 'Australia/Lord_Howe', 'UTC'),
        fc.uniqueArray(entry, { minLength: 1, maxLength: 3 }),
        fc.constantFrom('2026-03-05', '2026-03-26', '2026-10-22', '2026-10-29'),
        fc.integer({ min: 0, max: 6 * 86_400_000 }),
        fc.nat(20),
        (cron, timezone, exclude, day, lengthMs, max) => {
          const after = new Date(`${day}T07:00:00Z`);
          const until = new Date(after.getTime() + lengthMs);
          const all = nextTicks(
            { times: aSchedule({ cron, timezone }), anchor: new Date(0) },
            after,
            900,
          ).filter((at) => at <= until);
          const read = Exclusions.parse(exclude, timezone);
          if (!read.ok) throw new Error(read.problem);
          const out = all.filter((at) => read.exclusions.holds(at.getTime()));
          const clock = { times: aSchedule({ cron, timezone, exclude }), anchor: new Date(0) };
          const found = ticksIn(clock, { after, until });
          expect(found.kept?.count ?? 0).toBe(all.length - out.length);
          expect(found.excluded?.count ?? 0).toBe(out.length);
          expect(found.excluded?.from).toEqual(out[0]);
          expect(found.excluded?.to).toEqual(out.at(-1));
          const kept = nextTicks(clock, after, max).filter((at) => at <= until);
          expect(kept).toEqual(all.filter((at) => !out.includes(at)).slice(0, kept.length));
        },
      ),
      { numRuns: 20 },
    );
  });
});
