/** Times and durations as people read them. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `850 ms`, `12 s`, `3 m 05 s`, `2 h 10 m`, `4 d`. */
export function duration(ms: number): string {
  if (ms < SECOND_MS) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} m ${two((ms % MINUTE_MS) / SECOND_MS)} s`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h ${two((ms % HOUR_MS) / MINUTE_MS)} m`;
  return `${Math.floor(ms / DAY_MS)} d`;
}

/** `12 s ago`; a time that lies ahead is `in 12 s`. */
export function ago(at: string | null, now: Date): string {
  if (at === null) return '';
  const ms = now.getTime() - Date.parse(at);
  return ms < 0 ? `in ${duration(-ms)}` : `${duration(ms)} ago`;
}

/** The local time of day of an instant, `14:03:11`. */
export function timeOfDay(at: Date | string): string {
  const date = typeof at === 'string' ? new Date(at) : at;
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
}

export function usd(amount: number | null): string {
  return amount === null ? '' : `$${amount.toFixed(2)}`;
}

/** `1 run`, `2 runs`. */
export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;

const two = (n: number): string => String(Math.floor(n)).padStart(2, '0');
