import type { ScheduleCount } from '@headgate/sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { differs, wallClock } from '../src/parts/wall-clock.js';
import { fieldOf, instantOfField, lastDay } from '../src/schedules/span.js';
import { tallyOf } from '../src/schedules/tally.js';

describe('the clocks of a schedule’s zone', () => {
  it('tell the hour that comes twice apart', () => {
    expect(wallClock('2026-10-25T00:30:00Z', 'Europe/Berlin')).toBe('2026-10-25 02:30:00 +02:00');
    expect(wallClock('2026-10-25T01:30:00Z', 'Europe/Berlin')).toBe('2026-10-25 02:30:00 +01:00');
    expect(wallClock('2026-04-04T15:30:00Z', 'Australia/Lord_Howe')).toBe('2026-04-05 02:00:00 +10:30');
    expect(wallClock('2026-01-01T00:00:00Z', 'UTC')).toBe('2026-01-01 00:00:00 +00:00');
  });

  it('are shown only where they show something else, and where the zone is known', () => {
    expect(differs(['2026-01-01T00:00:00Z'], 'Europe/London', 'UTC')).toBe(false);
    expect(differs(['2026-01-01T00:00:00Z', '2026-07-01T00:00:00Z'], 'Europe/London', 'UTC')).toBe(true);
    expect(differs(['2026-01-01T00:00:00Z'], 'No/Where', 'UTC')).toBe(false);
    expect(wallClock('2026-01-01T00:00:00Z', 'No/Where')).toBeNull();
  });
});

describe('the totals of a schedule', () => {
  it('leave no nominal time out, and count none twice', () => {
    const count: fc.Arbitrary<ScheduleCount> = fc.record({
      origin: fc.constantFrom('timer', 'trigger', 'backfill'),
      bucket: fc.constantFrom('fired', 'buffered', 'skipped', 'missed', 'excluded', 'paused', 'discarded'),
      total: fc.nat(1_000),
    });
    const counts = fc.uniqueArray(count, { selector: ({ origin, bucket }) => `${origin} ${bucket}` });
    fc.assert(
      fc.property(counts, (given) => {
        const { buckets, rows } = tallyOf(given);
        const all = given.reduce((sum, { total }) => sum + total, 0);
        expect(rows.reduce((sum, row) => sum + row.sum, 0)).toBe(all);
        for (const row of rows) {
          expect(row.totals.length).toBe(buckets.length);
          expect(row.totals.reduce((sum, one) => sum + one, 0)).toBe(row.sum);
        }
      }),
    );
  });
});

describe('the ends of a back-fill', () => {
  it('come out of their fields as they went in, to the second', () => {
    const from = new Date('2020-01-01T00:00:00Z');
    fc.assert(
      fc.property(
        fc.date({ min: from, max: new Date('2099-12-31T00:00:00Z'), noInvalidDate: true }),
        (date) => {
          date.setMilliseconds(0);
          const again = instantOfField(fieldOf(date));
          // In the hour that comes twice the field means the first one.
          expect([0, 3_600_000, 1_800_000]).toContain(date.getTime() - Date.parse(again ?? ''));
        },
      ),
    );
  });

  it('are not there while a field is empty', () => {
    expect(instantOfField('')).toBeNull();
    expect(instantOfField('2026-13')).toBeNull();
  });

  it('are the last day at first, and do not lie ahead', () => {
    const now = new Date('2026-01-31T13:50:01.900Z');
    const { from, until } = lastDay(now);
    expect(Date.parse(instantOfField(until) ?? '')).toBeLessThanOrEqual(now.getTime());
    expect(Date.parse(instantOfField(until) ?? '') - Date.parse(instantOfField(from) ?? '')).toBe(
      24 * 3_600_000,
    );
  });
});
