/** What the clocks of a zone show, with their distance from UTC: so an hour that comes twice is told apart. Pure. */

/** `2026-10-25 02:30:00 +01:00`; null: this browser knows no such zone. */
export function wallClock(at: string, timezone: string): string | null {
  const parts = partsOf(at, timezone);
  if (parts === null) return null;
  const part = (name: Intl.DateTimeFormatPartTypes): string =>
    parts.find(({ type }) => type === name)?.value ?? '';
  const day = `${part('year')}-${part('month')}-${part('day')}`;
  const time = `${part('hour')}:${part('minute')}:${part('second')}`;
  return `${day} ${time} ${part('timeZoneName').replace('GMT', '') || '+00:00'}`;
}

/** Whether the clocks of a zone show something else at one of these instants than those of another. */
export const differs = (instants: readonly string[], timezone: string, other: string): boolean =>
  instants.some((at) => {
    const there = wallClock(at, timezone);
    return there !== null && there !== wallClock(at, other);
  });

export const browserZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

function partsOf(at: string, timeZone: string): readonly Intl.DateTimeFormatPart[] | null {
  try {
    return new Intl.DateTimeFormat('en-CA', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZoneName: 'longOffset',
    }).formatToParts(new Date(at));
  } catch (fault) {
    if (fault instanceof RangeError) return null;
    throw fault;
  }
}
