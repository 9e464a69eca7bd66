/**
 * Which ticks of a schedule are to be run now, and which were missed (I2).
 *
 * Nominal times are settled in order and for good: each lies in exactly one answer, as run or as missed, and
 * `lastNominalAt` only grows. So a clock that is set back fires nothing twice, and any number of tickers that
 * lock the schedule's row give one answer.
 *
 * A tick is on time within a minute of its time: that is a slow loop or a restart, not a missed tick. What
 * is older falls under the catch-up rule (its window counts from when it should have fired, jitter included):
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
import { type ScheduleTimes, timesOf } from './parse.js';

export type ScheduleSpec = Extract<TriggerOn, { kind: 'schedule' }>;
export type CatchUp = ScheduleSpec['catchUp'];

/** How late a tick may be and still be on time. */
export const ON_TIME_MS = 60_000;

export interface TickRange {
  /** First and last nominal time. */
  readonly from: Date;
  readonly to: Date;
  /** Exact. */
  readonly count: number;
}

/** A schedule in time: what it says, and where it begins. */
export interface ScheduleClock {
  readonly times: ScheduleTimes;
  /** Where `@every` counts from, unless there is a start. */
  readonly anchor: Date;
}

/** The next nominal times, without jitter. Fewer than `count` when the schedule ends. */
export function nextTicks({ times, anchor }: ScheduleClock, after: Date, count: number): readonly Date[] {
  const { kept } = timesOf(times, anchor);
  const ticks: Date[] = [];
  let tickMs = kept.next(after.getTime());
  while (tickMs !== null && ticks.length < count) {
    ticks.push(new Date(tickMs));
    tickMs = kept.next(tickMs);
  }
  return ticks;
}

export interface Span {
  /** Exclusive. */
  readonly after: Date;
  /** Inclusive. */
  readonly until: Date;
}

/** All nominal times of a span as ranges: what a pause, a change of the schedule or a back-fill speaks of. */
export function ticksIn(
  { times, anchor }: ScheduleClock,
  { after, until }: Span,
): { readonly kept: TickRange | null; readonly excluded: TickRange | null } {
  const { kept, excluded } = timesOf(times, anchor);
  const [afterMs, untilMs] = [after.getTime(), until.getTime()];
  return { kept: rangeIn(kept, afterMs, untilMs), excluded: excluded(afterMs, untilMs) };
}

/** The newest nominal time up to an instant; null: there is none after the anchor's epoch. */
export function latestTick({ times, anchor }: ScheduleClock, { after, until }: Span): Date | null {
  const [newest] = timesOf(times, anchor).kept.latest(after.getTime(), until.getTime(), 1);
  return newest === undefined ? null : new Date(newest);
}

export interface DueTicksInput {
  readonly schedule: ScheduleClock;
  /** All nominal times up to this one are settled. null = a new schedule: it starts now and has missed nothing. */
  readonly lastNominalAt: Date | null;
  readonly now: Date;
  readonly catchUp: CatchUp;
  /** Identity for the jitter. */
  readonly scheduleId: string;
  readonly jitterMs: number;
}

export interface DueTicks {
  /** Nominal times to run now, oldest first. */
  readonly run: Date[];
  readonly missed: TickRange | null;
  /** Left out by the schedule itself, up to the last nominal time. */
  readonly excluded: TickRange | null;
  /** When the next tick fires, jitter included; null = never again. */
  readonly nextAt: Date | null;
  /** To be kept for the next call. */
  readonly lastNominalAt: Date;
}

export function dueTicks(input: DueTicksInput): DueTicks {
  const { catchUp, jitterMs, scheduleId } = input;
  const { kept, excluded } = timesOf(input.schedule.times, input.schedule.anchor);
  const nowMs = input.now.getTime();
  const settledMs = input.lastNominalAt?.getTime() ?? nowMs;
  const fireAt = (nominalMs: number) => nominalMs + jitterOf(scheduleId, nominalMs, jitterMs);

  // Only the newest nominal times can still wait for their jitter; they are settled in order, so the first
  // that waits holds those after it.
  let waitingMs = kept.next(Math.max(settledMs, nowMs - jitterMs));
  while (waitingMs !== null && waitingMs <= nowMs && fireAt(waitingMs) <= nowMs) {
    waitingMs = kept.next(waitingMs);
  }
  const nextAt = waitingMs === null ? null : new Date(fireAt(waitingMs));
  const untilMs = waitingMs === null ? nowMs : Math.min(nowMs, waitingMs - 1);

  const newestMs = kept.latest(settledMs, untilMs, 1)[0];
  if (newestMs === undefined) {
    return { run: [], missed: null, excluded: null, nextAt, lastNominalAt: new Date(settledMs) };
  }
  const isWanted = (nominalMs: number) => {
    const lateMs = nowMs - fireAt(nominalMs);
    const isOnTime = nominalMs === newestMs && lateMs <= ON_TIME_MS;
    return isOnTime || (catchUp.mode !== 'none' && lateMs <= catchUp.windowMs);
  };
  const listed = catchUp.mode === 'all' ? Math.max(1, catchUp.max) : 1;
  // In nominal order: what lies before the oldest that is wanted is missed, so the buckets never interleave.
  const newest = kept.latest(settledMs, untilMs, listed);
  const firstWanted = newest.findIndex(isWanted);
  const run = firstWanted === -1 ? [] : newest.slice(firstWanted);
  const missedUntilMs = (run[0] ?? newestMs + 1) - 1;
  return {
    run: run.map((nominalMs) => new Date(nominalMs)),
    missed: rangeIn(kept, settledMs, missedUntilMs),
    excluded: excluded(settledMs, newestMs),
    nextAt,
    lastNominalAt: new Date(newestMs),
  };
}

function rangeIn(cadence: Cadence, afterMs: number, toMs: number): TickRange | null {
  const count = cadence.count(afterMs, toMs);
  const first = cadence.next(afterMs);
  const last = cadence.latest(afterMs, toMs, 1)[0];
  if (count === 0 || first === null || last === undefined) return null;
  return { from: new Date(first), to: new Date(last), count };
}
