/** `@every 20s`: multiples of an interval, counted from an anchor. */
import type { Cadence } from './cadence.js';

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** A tick costs a transaction; faster than this is a loop, not a schedule. */
const SHORTEST_MS = 1_000;
/** Longest interval: ten years. Beyond it instants leave what a Date can hold in a few thousand steps. */
const LONGEST_MS = 3_652 * 86_400_000;

export type EveryResult =
  | { readonly ok: true; readonly intervalMs: number }
  | { readonly ok: false; readonly problem: string };

/** Reads `@every 1h30m`: whole numbers with d, h, m, s, each unit once, from large to small. */
export function parseEvery(text: string): EveryResult {
  const parts = /^@every\s+(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/i.exec(text);
  const amounts = parts?.slice(1) ?? [];
  if (amounts.every((amount) => amount === undefined)) {
    return { ok: false, problem: 'write "@every" and a duration such as 20s, 10m or 1h30m' };
  }
  const intervalMs = ['d', 'h', 'm', 's'].reduce(
    (sum, unit, index) => sum + Number(amounts[index] ?? 0) * (UNIT_MS[unit] ?? 0),
    0,
  );
  if (intervalMs < SHORTEST_MS) return { ok: false, problem: 'the shortest interval is 1s' };
  if (intervalMs > LONGEST_MS) return { ok: false, problem: 'the longest interval is 3652d' };
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
