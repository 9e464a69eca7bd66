/** The two ends of a back-fill, as the browser's own fields for a time hold them: by its clocks, without a zone. Pure. */

export interface SpanFields {
  readonly from: string;
  readonly until: string;
}

const two = (n: number): string => String(n).padStart(2, '0');

/** `2026-11-30T14:03:11`. */
export function fieldOf(date: Date): string {
  const day = `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Null: it is not filled in. */
export function instantOfField(field: string): string | null {
  const date = new Date(field);
  return field === '' || Number.isNaN(date.getTime()) ? null : date.toISOString();
}

const DAY_MS = 24 * 3_600_000;

/** What is asked for most. Whole seconds: so its end has passed. */
export const lastDay = (now: Date): SpanFields => ({
  from: fieldOf(new Date(now.getTime() - DAY_MS)),
  until: fieldOf(now),
});
