import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cadence, nextTicks, parseCadence } from '../src/index.js';

const cadence = (spec: string, timezone = 'UTC', anchor?: Date): Cadence => {
  const result = parseCadence(spec, timezone, anchor);
  if (!result.ok) throw new Error(result.problem);
  return result.cadence;
};
const next = (spec: string, timezone: string, after: string, count: number) =>
  nextTicks(
    { times: { cron: spec, timezone, startAt: null, endAt: null, exclude: [] }, anchor: new Date(0) },
    new Date(after),
    count,
  ).map((date) => date.toISOString());

describe('cron', () => {
  it('I2: local time: 03:00 on Mondays in Berlin is another instant in winter and in summer', () => {
    expect(next('0 3 * * 1', 'Europe/Berlin', '2026-03-22T00:00:00Z', 2)).toEqual([
      '2026-03-23T02:00:00.000Z',
      '2026-03-30T01:00:00.000Z',
    ]);
  });

  it('day of month and day of week are OR-ed, as Vixie cron does', () => {
    expect(next('0 0 1 * 1', 'UTC', '2026-01-30T00:00:00Z', 3)).toEqual([
      '2026-02-01T00:00:00.000Z',
      '2026-02-02T00:00:00.000Z',
      '2026-02-09T00:00:00.000Z',
    ]);
  });

  it('a fixed time that the clock skips runs right after the gap; a list of times too', () => {
    expect(next('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
    const list = next('0,30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 1);
    expect(list).toEqual(['2026-03-29T01:00:00.000Z']);
  });

  it('a fixed time that comes twice runs once, at the first; asked in between, it does not run again', () => {
    expect(next('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ]);
    expect(next('30 2 * * *', 'Europe/Berlin', '2026-10-25T00:45:00Z', 1)).toEqual([
      '2026-10-26T01:30:00.000Z',
    ]);
  });

  it('a step goes on by the clock through both hours, and has nothing in the hour that is skipped', () => {
    expect(next('*/30 * * * *', 'Europe/Berlin', '2026-10-24T23:45:00Z', 4)).toEqual([
      '2026-10-25T00:00:00.000Z',
      '2026-10-25T00:30:00.000Z',
      '2026-10-25T01:00:00.000Z',
      '2026-10-25T01:30:00.000Z',
    ]);
    expect(next('*/30 * * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z', 2)).toEqual([
      '2026-03-29T00:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
    ]);
  });

  it('a zone that shifts by half an hour is right', () => {
    expect(next('0 12 * * *', 'Australia/Lord_Howe', '2026-04-04T00:00:00Z', 2)).toEqual([
      '2026-04-04T01:00:00.000Z',
      '2026-04-05T01:30:00.000Z',
    ]);
  });

  it('29 February is found, 30 February is refused', () => {
    expect(next('0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', 1)).toEqual(['2028-02-29T00:00:00.000Z']);
    expect(parseCadence('0 0 30 2 *', 'UTC')).toMatchObject({
      ok: false,
      problem: 'no date ever matches it',
    });
  });

  it.each([
    ['* * * *', 'UTC'],
    ['* * * * * *', 'UTC'],
    ['61 * * * *', 'UTC'],
    ['', 'UTC'],
    ['@reboot', 'UTC'],
    ['0 0 * * *', 'Mars/Olympus'],
  ])('%j in %s is refused with a sentence', (spec, timezone) => {
    const result = parseCadence(spec, timezone);
    expect(result).toMatchObject({ ok: false, problem: expect.stringMatching(/\w+/) });
  });

  it.each(['@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually'])(
    '%s is known',
    (name) => expect(parseCadence(name, 'UTC').ok).toBe(true),
  );

  it('@-names mean what they say', () => {
    expect(next('@daily', 'UTC', '2026-01-01T00:00:00Z', 1)).toEqual(['2026-01-02T00:00:00.000Z']);
    expect(next('@hourly', 'UTC', '2026-01-01T00:00:00Z', 1)).toEqual(['2026-01-01T01:00:00.000Z']);
  });
});

describe('@every', () => {
  it('counts from the anchor, so that every replica names the same instants', () => {
    expect(next('@every 20s', 'UTC', '2026-01-01T00:00:05Z', 2)).toEqual([
      '2026-01-01T00:00:20.000Z',
      '2026-01-01T00:00:40.000Z',
    ]);
    const anchored = cadence('@every 1h30m', 'UTC', new Date('2026-01-01T00:10:00Z'));
    expect(anchored.next(Date.parse('2026-01-01T00:10:00Z'))).toBe(Date.parse('2026-01-01T01:40:00Z'));
    expect(anchored.next(Date.parse('2025-12-31T23:00:00Z'))).toBe(Date.parse('2026-01-01T00:10:00Z'));
  });

  it('takes every unit, and any length that a configuration can hold', () => {
    expect(cadence('@every 1d2h3m4s5ms').next(0)).toBe(93_784_005);
    expect(cadence('@every 999999d').next(0)).toBe(999_999 * 86_400_000);
    expect(next('@every 999999d', 'UTC', '2026-01-01T00:00:00Z', 1)).toHaveLength(1);
  });

  it.each(['@every', '@every 0s', '@every 20', '@every -5s', '@every 1s1h', '@every 0.5s'])(
    '%j is refused',
    (spec) => expect(parseCadence(spec, 'UTC').ok).toBe(false),
  );
});

describe('what holds for every schedule', () => {
  const spec = fc.constantFrom(
    '*/7 * * * *',
    '0 * * * *',
    '30 2 * * *',
    '0,30 1-3 * * *',
    '0,30 2 * * *',
    '15 */5 * * 1-5',
    '0 0 1 * 1',
    '0 0 * * *',
    '@every 1h',
    '@every 47m',
  );
  const timezone = fc.constantFrom(
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'America/Santiago',
  );
  const DAY_MS = 86_400_000;
  /** Around changes of the clock, north and south. */
  const start = fc
    .tuple(
      fc.constantFrom(
        '2026-03-06',
        '2026-03-27',
        '2026-04-03',
        '2026-09-04',
        '2026-10-02',
        '2026-10-23',
        '2026-10-30',
      ),
      fc.integer({ min: 0, max: DAY_MS }),
    )
    .map(([day, offsetMs]) => Date.parse(`${day}T00:00:00Z`) + offsetMs);
  const length = fc.integer({ min: 0, max: 4 * DAY_MS });

  function walk(schedule: Cadence, afterMs: number, toMs: number): number[] {
    const ticks: number[] = [];
    for (let at = schedule.next(afterMs); at !== null && at <= toMs; at = schedule.next(at)) ticks.push(at);
    return ticks;
  }

  it('INV-SC2: counting by days gives what walking tick by tick gives, also over changes of the clock', () => {
    fc.assert(
      fc.property(spec, timezone, start, length, fc.nat(12), (text, zone, afterMs, lengthMs, max) => {
        const schedule = cadence(text, zone);
        const ticks = walk(schedule, afterMs, afterMs + lengthMs);
        expect(schedule.count(afterMs, afterMs + lengthMs)).toBe(ticks.length);
        expect(schedule.latest(afterMs, afterMs + lengthMs, max)).toEqual(
          ticks.slice(ticks.length - Math.min(max, ticks.length)),
        );
      }),
      { numRuns: 60 },
    );
  });

  it('the next time depends on the schedule alone, not on where one starts to look', () => {
    fc.assert(
      fc.property(
        spec,
        timezone,
        start,
        fc.integer({ min: 0, max: 2 * DAY_MS }),
        (text, zone, fromMs, laterMs) => {
          const schedule = cadence(text, zone);
          const asked = schedule.next(fromMs + laterMs);
          const walked = walk(schedule, fromMs, asked ?? fromMs).filter((at) => at > fromMs + laterMs);
          expect(walked[0]).toBe(asked);
        },
      ),
      { numRuns: 80 },
    );
  });
});
