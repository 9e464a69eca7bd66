/**
 * Cron, with croner for the calendar. croner only computes the next time (some 60 µs), so a long range is
 * counted by days: every day on which the clock does not change has the same number of ticks, and only days
 * with a change, and the two ends, are walked tick by tick.
 */
import { Cron } from 'croner';
import type { Cadence, CadenceResult } from './cadence.js';
import { ZoneOffsets } from './zone-offsets.js';

const DAY_MS = 86_400_000;
/** The shortest distance of two ticks: the first look-back for the newest n is n of these. */
const MINUTE_MS = 60_000;
/** From here a time must follow; which date it is does not matter, croner looks far enough ahead for 29 February. */
const PROBE_FROM_MS = Date.UTC(2024, 0, 1);

/** Schedules that are kept read; more than a configuration has, few enough to forget about. */
const REMEMBERED = 500;
const READ = new Map<string, CadenceResult>();

export class CronCadence implements Cadence {
  private ticksPerPlainDay: number | null = null;

  private constructor(
    private readonly cron: Cron,
    private readonly offsets: ZoneOffsets,
  ) {}

  /** Remembers what it has read: making the calendar objects costs more than asking them. */
  static parse(spec: string, timezone: string): CadenceResult {
    const key = `${timezone}\u0000${spec}`;
    const known = READ.get(key);
    if (known !== undefined) return known;
    const result = CronCadence.read(spec, timezone);
    if (READ.size >= REMEMBERED) READ.clear();
    READ.set(key, result);
    return result;
  }

  private static read(spec: string, timezone: string): CadenceResult {
    const offsets = ZoneOffsets.of(timezone);
    if (offsets === null) return { ok: false, problem: `"${timezone}" is not a known time zone` };
    let cron: Cron;
    try {
      cron = new Cron(spec, { timezone, mode: '5-part', fixedTimeRule: 'no-wildcard', paused: true });
    } catch (error) {
      return { ok: false, problem: error instanceof Error ? error.message : String(error) };
    }
    const cadence = new CronCadence(cron, offsets);
    if (cadence.next(PROBE_FROM_MS) === null) return { ok: false, problem: 'no date ever matches it' };
    return { ok: true, cadence };
  }

  next(afterMs: number): number | null {
    return this.cron.nextRun(new Date(afterMs))?.getTime() ?? null;
  }

  latest(afterMs: number, toMs: number, max: number): readonly number[] {
    for (let lookBackMs = Math.max(1, max) * MINUTE_MS; ; lookBackMs *= 4) {
      const fromMs = Math.max(afterMs, toMs - lookBackMs);
      const ticks = this.walk(fromMs, toMs);
      if (ticks.length >= max || fromMs === afterMs) return ticks.slice(Math.max(0, ticks.length - max));
    }
  }

  count(afterMs: number, toMs: number): number {
    let total = 0;
    let cursorMs = afterMs;
    /** Ticks before this instant lie on a day that is known not to be counted whole. */
    let walkUntilMs = toMs - DAY_MS < afterMs ? Number.POSITIVE_INFINITY : afterMs;
    for (;;) {
      const tickMs = this.next(cursorMs);
      if (tickMs === null || tickMs > toMs) return total;
      const day = tickMs < walkUntilMs ? null : this.offsets.plainDay(tickMs);
      if (day !== null && cursorMs < day.startMs && day.startMs + DAY_MS - 1 <= toMs) {
        total += this.countPlainDay(day.startMs);
        cursorMs = day.startMs + DAY_MS - 1;
      } else {
        if (day !== null) walkUntilMs = day.startMs + DAY_MS;
        total += 1;
        cursorMs = tickMs;
      }
    }
  }

  /** The number depends on hours and minutes only, so one day stands for all. */
  private countPlainDay(startMs: number): number {
    this.ticksPerPlainDay ??= this.walk(startMs - 1, startMs + DAY_MS - 1).length;
    return this.ticksPerPlainDay;
  }

  private walk(afterMs: number, toMs: number): number[] {
    const ticks: number[] = [];
    let tickMs = this.next(afterMs);
    while (tickMs !== null && tickMs <= toMs) {
      ticks.push(tickMs);
      tickMs = this.next(tickMs);
    }
    return ticks;
  }
}
