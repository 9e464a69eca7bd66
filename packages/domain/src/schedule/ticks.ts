/**
 * Which ticks of a schedule are to be run now, and which were missed (I2).
 *
 * Nominal times are settled in order and for good: each lies in exactly one answer, as run or as missed, and
 * `lastNominalAt` only grows. So a clock that is set back fires nothing twice, and any number of tickers that
 * lock the schedule's row give one answer.
 *
 * A tick is on time within a minute of its time: that is a slow loop or a restart, not a missed tick. What
 * is older falls under the catch-up rule:
 * - `none`: missed.
 * - `latest`: the newest, if it is not older than the window.
 * - `all`: the newest `max` that are not older than the window.
 * Of several ticks that are on time together `none` and `latest` run the newest only.
 *
 * A month without a tick costs what a day costs: at most `max` ticks are listed, the rest is one range with
 * its exact number.
 */
import type { TriggerOn } from '../policy.js';
import type { Cadence } from './cadence.js';
import { jitterOf } from './jitter.js';
import { cadenceOf } from './parse.js';

export type CatchUp = Extract<TriggerOn, { kind: 'schedule' }>['catchUp'];

/** How late a tick may be and still be on time. */
export const ON_TIME_MS = 60_000;

export interface NextTicksOptions {
  readonly timezone: string;
  /** Exclusive. */
  readonly after: Date;
  readonly count: number;
  readonly anchor?: Date;
}

/** The next nominal times, without jitter. Fewer than `count` when the schedule ends. */
export function nextTicks(spec: string, options: NextTicksOptions): readonly Date[] {
  const cadence = cadenceOf(spec, options.timezone, options.anchor);
  const ticks: Date[] = [];
  let tickMs = cadence.next(options.after.getTime());
  while (tickMs !== null && ticks.length < options.count) {
    ticks.push(new Date(tickMs));
    tickMs = cadence.next(tickMs);
  }
  return ticks;
}

export interface DueTicksInput {
  readonly spec: string;
  readonly timezone: string;
  /** All nominal times up to this one are settled. null = a new schedule: it starts now and has missed nothing. */
  readonly lastNominalAt: Date | null;
  readonly now: Date;
  readonly catchUp: CatchUp;
  /** Identity for the jitter. */
  readonly scheduleId?: string;
  readonly jitterMs?: number;
  readonly anchor?: Date;
}

export interface MissedTicks {
  /** First and last nominal time, both missed. */
  readonly from: Date;
  readonly to: Date;
  /** Exact. */
  readonly count: number;
}

export interface DueTicks {
  /** Nominal times to run now, oldest first. */
  readonly run: Date[];
  readonly missed: MissedTicks | null;
  /** When the next tick fires, jitter included; null = never again. */
  readonly nextAt: Date | null;
  /** To be kept for the next call. */
  readonly lastNominalAt: Date;
}

export function dueTicks(input: DueTicksInput): DueTicks {
  const { catchUp } = input;
  const cadence = cadenceOf(input.spec, input.timezone, input.anchor);
  const nowMs = input.now.getTime();
  const settledMs = input.lastNominalAt?.getTime() ?? nowMs;
  const jitterMs = input.jitterMs ?? 0;
  const fireAt = (nominalMs: number) =>
    nominalMs + jitterOf(input.scheduleId ?? input.spec, nominalMs, jitterMs);

  // Only the newest nominal times can still wait for their jitter; they are settled in order, so the first
  // that waits holds those after it.
  let waitingMs = cadence.next(Math.max(settledMs, nowMs - jitterMs));
  while (waitingMs !== null && waitingMs <= nowMs && fireAt(waitingMs) <= nowMs) {
    waitingMs = cadence.next(waitingMs);
  }
  const nextAt = waitingMs === null ? null : new Date(fireAt(waitingMs));
  const untilMs = waitingMs === null ? nowMs : Math.min(nowMs, waitingMs - 1);

  const newestMs = cadence.latest(settledMs, untilMs, 1)[0];
  if (newestMs === undefined) return { run: [], missed: null, nextAt, lastNominalAt: new Date(settledMs) };

  const isWanted = (nominalMs: number) => {
    const isOnTime = nominalMs === newestMs && nowMs - fireAt(nominalMs) <= ON_TIME_MS;
    return isOnTime || (catchUp.mode !== 'none' && nowMs - nominalMs <= catchUp.windowMs);
  };
  const listed = catchUp.mode === 'all' ? Math.max(1, catchUp.max) : 1;
  const run = cadence.latest(settledMs, untilMs, listed).filter(isWanted);
  const missedUntilMs = (run[0] ?? newestMs + 1) - 1;
  return {
    run: run.map((nominalMs) => new Date(nominalMs)),
    missed: missedIn(cadence, settledMs, missedUntilMs),
    nextAt,
    lastNominalAt: new Date(newestMs),
  };
}

function missedIn(cadence: Cadence, afterMs: number, toMs: number): MissedTicks | null {
  const count = cadence.count(afterMs, toMs);
  const first = cadence.next(afterMs);
  const last = cadence.latest(afterMs, toMs, 1)[0];
  if (count === 0 || first === null || last === undefined) return null;
  return { from: new Date(first), to: new Date(last), count };
}
