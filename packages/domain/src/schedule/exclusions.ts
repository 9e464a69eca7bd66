/**
 * Days that a schedule leaves out, in its own time zone: `2026-12-24`, `2026-12-24/2027-01-02`, and every year
 * `12-25`, `12-24/01-02`. Both ends of a range belong to it.
 *
 * An instant is excluded when its local date is. Long ranges are walked by stretches: instants of one local date
 * under one offset, so that a change of clocks, also one across midnight, is counted exactly.
 */
import type { Cadence } from './cadence.js';
import type { TickRange } from './ticks.js';
import { ZoneOffsets } from './zone-offsets.js';

const ENTRY = /^(?:(\d{4})-)?(\d\d)-(\d\d)(?:\/(?:(\d{4})-)?(\d\d)-(\d\d))?$/;
/** Leap day too, so that 02-29 may be excluded every year. */
const ANY_LEAP_YEAR = 2024;
/** Excluded stretches that are passed over in search of the next time: ten years of days and changes of clocks. */
const MOST_STRETCHES = 4_000;

interface DayRange {
  /** `20261224`, or `1224` for every year. */
  readonly from: number;
  readonly to: number;
  readonly yearly: boolean;
}

export type ExclusionsResult =
  | { readonly ok: true; readonly exclusions: Exclusions }
  | { readonly ok: false; readonly problem: string };

export class Exclusions {
  private constructor(
    private readonly ranges: readonly DayRange[],
    private readonly offsets: ZoneOffsets,
  ) {}

  static parse(entries: readonly string[], timezone: string): ExclusionsResult {
    const offsets = ZoneOffsets.of(timezone);
    if (offsets === null) return { ok: false, problem: `"${timezone}" is not a known time zone` };
    const ranges: DayRange[] = [];
    for (const entry of entries) {
      const range = readRange(entry);
      if (typeof range === 'string') return { ok: false, problem: range };
      ranges.push(range);
    }
    return { ok: true, exclusions: new Exclusions(ranges, offsets) };
  }

  holds(atMs: number): boolean {
    const date = new Date(atMs + this.offsets.offsetMs(atMs));
    const day = (date.getUTCMonth() + 1) * 100 + date.getUTCDate();
    const full = date.getUTCFullYear() * 10_000 + day;
    return this.ranges.some(({ from, to, yearly }) => {
      if (!yearly) return full >= from && full <= to;
      return from <= to ? day >= from && day <= to : day >= from || day <= to;
    });
  }

  /** The instant after the last one of the stretch that holds this one. */
  stretchEnd(atMs: number): number {
    return this.offsets.stretch(atMs).endMs;
  }

  stretchStart(atMs: number): number {
    return this.offsets.stretch(atMs).startMs;
  }
}

function readRange(entry: string): DayRange | string {
  const [, fromYear, fromMonth, fromDay, toYear, toMonth, toDay] = ENTRY.exec(entry) ?? [];
  if (fromMonth === undefined || fromDay === undefined) {
    return `"${entry}" is not a day: write 2026-12-24, 12-24, or a range such as 2026-12-24/2027-01-02`;
  }
  const from = dayNumber(fromYear, fromMonth, fromDay);
  const to = toMonth === undefined || toDay === undefined ? from : dayNumber(toYear, toMonth, toDay);
  if (from === null || to === null) return `"${entry}" names a day that does not exist`;
  const yearly = fromYear === undefined;
  if (toMonth !== undefined && yearly !== (toYear === undefined)) {
    return `"${entry}" gives a year at one end only`;
  }
  if (!yearly && to < from) return `"${entry}" ends before it begins`;
  return { from, to, yearly };
}

function dayNumber(year: string | undefined, month: string, day: string): number | null {
  const date = new Date(Date.UTC(Number(year ?? ANY_LEAP_YEAR), Number(month) - 1, Number(day)));
  if (date.getUTCMonth() + 1 !== Number(month) || date.getUTCDate() !== Number(day)) return null;
  return (year === undefined ? 0 : Number(year) * 10_000) + Number(month) * 100 + Number(day);
}

/** A cadence without its excluded times, which it can still count. */
export class ExcludingCadence implements Cadence {
  constructor(
    private readonly base: Cadence,
    private readonly exclusions: Exclusions,
  ) {}

  next(afterMs: number): number | null {
    let tickMs = this.base.next(afterMs);
    for (let stretches = 0; tickMs !== null && stretches < MOST_STRETCHES; stretches += 1) {
      if (!this.exclusions.holds(tickMs)) return tickMs;
      tickMs = this.base.next(this.exclusions.stretchEnd(tickMs) - 1);
    }
    return null;
  }

  latest(afterMs: number, toMs: number, max: number): readonly number[] {
    const found: number[] = [];
    for (let untilMs = toMs; found.length < max && untilMs > afterMs; ) {
      const wanted = max - found.length;
      const ticks = this.base.latest(afterMs, untilMs, wanted);
      found.unshift(...ticks.filter((tickMs) => !this.exclusions.holds(tickMs)));
      const [oldest] = ticks;
      if (oldest === undefined || ticks.length < wanted) break;
      untilMs = (this.exclusions.holds(oldest) ? this.exclusions.stretchStart(oldest) : oldest) - 1;
    }
    return found;
  }

  count(afterMs: number, toMs: number): number {
    return this.base.count(afterMs, toMs) - (this.excluded(afterMs, toMs)?.count ?? 0);
  }

  /** Those in (after, to] that are left out. */
  excluded(afterMs: number, toMs: number): TickRange | null {
    let count = 0;
    let firstMs: number | null = null;
    let last: readonly [number, number] = [afterMs, afterMs];
    for (let cursorMs = afterMs + 1; cursorMs <= toMs; ) {
      const endMs = this.exclusions.stretchEnd(cursorMs);
      const untilMs = Math.min(endMs - 1, toMs);
      const within = this.exclusions.holds(cursorMs) ? this.base.count(cursorMs - 1, untilMs) : 0;
      if (within > 0) {
        count += within;
        firstMs ??= this.base.next(cursorMs - 1);
        last = [cursorMs - 1, untilMs];
      }
      cursorMs = endMs;
    }
    const [lastMs] = firstMs === null ? [] : this.base.latest(last[0], last[1], 1);
    if (firstMs === null || lastMs === undefined) return null;
    return { from: new Date(firstMs), to: new Date(lastMs), count };
  }
}
