/** `@every 20s`: multiples of an interval, counted from an anchor. */
import type { Cadence } from './cadence.js';

const EVERY = /^@every\s+(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/i;
const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1_000, 1];
/** A tick costs a transaction; faster than this is a loop, not a schedule. */
const SHORTEST_MS = 1_000;

export type EveryResult =
  | { readonly ok: true; readonly intervalMs: number }
  | { readonly ok: false; readonly problem: string };

/** Reads `@every 1h30m`: whole numbers with d, h, m, s, ms, each unit once, from large to small. */
export function parseEvery(text: string): EveryResult {
  const amounts = EVERY.exec(text)?.slice(1) ?? [];
  if (amounts.every((amount) => amount === undefined)) {
    return { ok: false, problem: 'write "@every" and a duration such as 20s, 10m or 1h30m' };
  }
  const intervalMs = UNITS_MS.reduce((sum, unitMs, index) => sum + unitMs * Number(amounts[index] ?? 0), 0);
  if (intervalMs < SHORTEST_MS) return { ok: false, problem: 'the shortest interval is 1s' };
  return { ok: true, intervalMs };
}

export class EveryCadence implements Cadence {
  constructor(
    private readonly intervalMs: number,
    private readonly anchorMs: number,
  ) {}

  next(afterMs: number): number {
    return this.instant(this.stepsUntil(afterMs) + 1);
  }

  latest(afterMs: number, toMs: number, max: number): readonly number[] {
    const last = this.stepsUntil(toMs);
    const length = Math.min(max, this.count(afterMs, toMs));
    return Array.from({ length }, (_, index) => this.instant(last - length + 1 + index));
  }

  count(afterMs: number, toMs: number): number {
    return Math.max(0, this.stepsUntil(toMs) - this.stepsUntil(afterMs));
  }

  private stepsUntil(ms: number): number {
    return Math.floor((ms - this.anchorMs) / this.intervalMs);
  }

  private instant(step: number): number {
    return this.anchorMs + step * this.intervalMs;
  }
}
