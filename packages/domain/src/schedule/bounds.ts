/** Where a schedule begins and ends. Times outside do not exist: they are neither missed nor excluded. */
import type { Cadence } from './cadence.js';
import { ZoneOffsets } from './zone-offsets.js';

const DAY = /^(\d{4})-(\d\d)-(\d\d)$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/;

/** A cadence between two instants, both included. */
export class BoundedCadence implements Cadence {
  constructor(
    private readonly base: Cadence,
    private readonly startMs: number,
    private readonly endMs: number,
  ) {}

  next(afterMs: number): number | null {
    const tickMs = this.base.next(Math.max(afterMs, this.startMs - 1));
    return tickMs === null || tickMs > this.endMs ? null : tickMs;
  }

  latest(afterMs: number, toMs: number, max: number): readonly number[] {
    const [fromMs, untilMs] = this.within(afterMs, toMs);
    return untilMs <= fromMs ? [] : this.base.latest(fromMs, untilMs, max);
  }

  count(afterMs: number, toMs: number): number {
    const [fromMs, untilMs] = this.within(afterMs, toMs);
    return untilMs <= fromMs ? 0 : this.base.count(fromMs, untilMs);
  }

  private within(afterMs: number, toMs: number): readonly [number, number] {
    return [Math.max(afterMs, this.startMs - 1), Math.min(toMs, this.endMs)];
  }
}

/**
 * The instant of a written bound: an instant with its offset, or a day of the zone, whose first instant is the start
 * and whose last one is the end. null: it is neither.
 */
export function boundOf(text: string, timezone: string, end: 'start' | 'end'): Date | null {
  if (INSTANT.test(text)) {
    const at = new Date(text);
    return Number.isNaN(at.getTime()) ? null : at;
  }
  const [, year, month, day] = DAY.exec(text) ?? [];
  const offsets = ZoneOffsets.of(timezone);
  if (year === undefined || month === undefined || day === undefined || offsets === null) return null;
  const midnightMs = Date.UTC(Number(year), Number(month) - 1, Number(day));
  if (new Date(midnightMs).toISOString().slice(0, 10) !== text) return null;
  return new Date(
    end === 'start' ? offsets.dayStart(midnightMs) : offsets.dayStart(midnightMs + 86_400_000) - 1,
  );
}
