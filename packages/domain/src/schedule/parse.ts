/**
 * When a schedule is due: five-field cron, an @-name, or `@every 20s`. Only times; nothing here ticks.
 *
 * Rules, each with a test:
 * - Day of month and day of week are OR-ed when both are given, as Vixie cron does.
 * - Local times that a change of clocks skips: a schedule of fixed times runs at the first valid time after the
 *   gap; one with a wildcard or step in minute or hour has no such time and goes on by the clock.
 * - Local times that come twice: fixed times run once, at the first; the others run in both hours.
 * - A day that a month does not have (31, 29 February) is passed over; it is not moved to the last day.
 * - `@every` counts multiples of its length from the start if there is one, else from an anchor (the moment the
 *   schedule was made), so that all replicas, and the same replica after a restart, name the same instants. It knows
 *   no time zone.
 * - Start and end are both included; excluded days are whole days of the zone.
 */
import { BoundedCadence } from './bounds.js';
import type { Cadence, CadenceResult } from './cadence.js';
import { CronCadence } from './cron-cadence.js';
import { EveryCadence, parseEvery } from './every-cadence.js';
import { ExcludingCadence, Exclusions } from './exclusions.js';

/** Reads a schedule. `anchor` only matters to `@every`. The problem is a sentence for whoever wrote it. */
export function parseCadence(spec: string, timezone: string, anchor: Date = new Date(0)): CadenceResult {
  const text = spec.trim();
  if (/^@every(\s|$)/i.test(text)) {
    const every = parseEvery(text);
    if (!every.ok) return every;
    return { ok: true, cadence: new EveryCadence(every.intervalMs, anchor.getTime()) };
  }
  return CronCadence.parse(text, timezone);
}

/** When a schedule is due, as its specification has it. */
export interface ScheduleTimes {
  readonly cron: string;
  readonly timezone: string;
  /** RFC 3339. */
  readonly startAt: string | null;
  readonly endAt: string | null;
  readonly exclude: readonly string[];
}

export interface PlannedTimes {
  /** Without the excluded ones. */
  readonly kept: Cadence;
  readonly excluded: ExcludingCadence['excluded'];
}

/** The times of a schedule whose configuration has been checked before: a bad one is a fault. */
export function timesOf(times: ScheduleTimes, anchor: Date): PlannedTimes {
  const startMs = times.startAt === null ? null : Date.parse(times.startAt);
  const endMs = times.endAt === null ? Number.POSITIVE_INFINITY : Date.parse(times.endAt);
  const parsed = parseCadence(times.cron, times.timezone, startMs === null ? anchor : new Date(startMs));
  if (!parsed.ok) throw new Error(`the schedule "${times.cron}" cannot be read: ${parsed.problem}`);
  const isBounded = startMs !== null || endMs !== Number.POSITIVE_INFINITY;
  const base = isBounded
    ? new BoundedCadence(parsed.cadence, startMs ?? Number.NEGATIVE_INFINITY, endMs)
    : parsed.cadence;
  if (times.exclude.length === 0) return { kept: base, excluded: () => null };
  const read = Exclusions.parse(times.exclude, times.timezone);
  if (!read.ok) throw new Error(`the schedule "${times.cron}" cannot be read: ${read.problem}`);
  const kept = new ExcludingCadence(base, read.exclusions);
  return { kept, excluded: (afterMs, toMs) => kept.excluded(afterMs, toMs) };
}
