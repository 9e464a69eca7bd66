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

  /** The local day that holds an instant, or null when the clock changes on it. */
  plainDay(atMs: number): { readonly startMs: number } | null {
    const offsetMs = this.offsetMs(atMs);
    const startMs = Math.floor((atMs + offsetMs) / DAY_MS) * DAY_MS - offsetMs;
    const isPlain = this.offsetMs(startMs) === offsetMs && this.offsetMs(startMs + DAY_MS - 1) === offsetMs;
    return isPlain ? { startMs } : null;
  }
}
