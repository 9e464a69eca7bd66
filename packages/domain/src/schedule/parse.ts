/**
 * When a schedule is due: five-field cron, an @-name, or `@every 20s`. Only times; nothing here ticks.
 *
 * Rules, each with a test:
 * - Day of month and day of week are OR-ed when both are given, as Vixie cron does.
 * - Local times that a change of clocks skips: a schedule of fixed times runs at the first valid time after the
 *   gap; one with a wildcard or step in minute or hour has no such time and goes on by the clock.
 * - Local times that come twice: fixed times run once, at the first; the others run in both hours.
 * - `@every` counts multiples of its length from an anchor (the Unix epoch), so that all replicas, and the same
 *   replica after a restart, name the same instants. It knows no time zone.
 */
import type { Cadence, CadenceResult } from './cadence.js';
import { CronCadence } from './cron-cadence.js';
import { EveryCadence, parseEvery } from './every-cadence.js';

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

/** As `parseCadence` where the configuration has been checked before: a bad one is a fault. */
export function cadenceOf(spec: string, timezone: string, anchor?: Date): Cadence {
  const result = parseCadence(spec, timezone, anchor);
  if (!result.ok) throw new Error(`the schedule "${spec}" cannot be read: ${result.problem}`);
  return result.cadence;
}
