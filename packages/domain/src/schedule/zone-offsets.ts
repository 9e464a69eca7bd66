/** Offsets of a time zone, and which local days have 24 ordinary hours. */

const DAY_MS = 86_400_000;

export class ZoneOffsets {
  private constructor(private readonly format: Intl.DateTimeFormat) {}

  /** null = the runtime does not know the zone. */
  static of(timezone: string): ZoneOffsets | null {
    try {
      return new ZoneOffsets(
        new Intl.DateTimeFormat('en-US', {
          timeZone: timezone,
          hourCycle: 'h23',
          year: 'numeric',
          month: 'numeric',
          day: 'numeric',
          hour: 'numeric',
          minute: 'numeric',
          second: 'numeric',
        }),
      );
    } catch {
      return null;
    }
  }

  /** Local time minus UTC at an instant, in ms. */
  offsetMs(atMs: number): number {
    const fields: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of this.format.formatToParts(atMs)) fields[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = fields;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(atMs / 1_000) * 1_000;
  }

  /** The instants around this one that have its local date and its offset. Assumes one change of clocks a day at most. */
  stretch(atMs: number): { readonly startMs: number; readonly endMs: number } {
    const offsetMs = this.offsetMs(atMs);
    const startMs = Math.floor((atMs + offsetMs) / DAY_MS) * DAY_MS - offsetMs;
    const endMs = startMs + DAY_MS;
    return {
      startMs: this.offsetMs(startMs) === offsetMs ? startMs : this.changeBetween(startMs, atMs),
      endMs: this.offsetMs(endMs - 1) === offsetMs ? endMs : this.changeBetween(atMs, endMs - 1),
    };
  }

  /** The first instant of a local date, given as its midnight in UTC; where midnight is skipped, right after the gap. */
  dayStart(midnightUtcMs: number): number {
    const guessMs = midnightUtcMs - this.offsetMs(midnightUtcMs);
    const offsetMs = this.offsetMs(guessMs);
    const startMs = midnightUtcMs - offsetMs;
    if (this.offsetMs(startMs) === offsetMs) {
      // Midnight that comes twice: the first one.
      const earlierMs = midnightUtcMs - this.offsetMs(startMs - DAY_MS / 4);
      return earlierMs < startMs && this.offsetMs(earlierMs) === midnightUtcMs - earlierMs
        ? earlierMs
        : startMs;
    }
    return this.changeBetween(
      Math.min(startMs, guessMs) - DAY_MS / 4,
      Math.max(startMs, guessMs) + DAY_MS / 4,
    );
  }

  /** The first instant with the offset of the second, by halving. */
  private changeBetween(fromMs: number, toMs: number): number {
    const offsetMs = this.offsetMs(toMs);
    let before = fromMs;
    let after = toMs;
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.offsetMs(middle) === offsetMs) after = middle;
      else before = middle;
    }
    return after;
  }

  /** The local day that holds an instant, or null when the clock changes on it. */
  plainDay(atMs: number): { readonly startMs: number } | null {
    const offsetMs = this.offsetMs(atMs);
    const startMs = Math.floor((atMs + offsetMs) / DAY_MS) * DAY_MS - offsetMs;
    const isPlain = this.offsetMs(startMs) === offsetMs && this.offsetMs(startMs + DAY_MS - 1) === offsetMs;
    return isPlain ? { startMs } : null;
  }
}
