/**
 * One schedule that is due: its ticks, their receipts and runs, and the row's advance, in one transaction.
 *
 *   (heads are read) ─► BEGIN ─► schedule row locked ─► due times ─► overlap ─► admission ─► tick rows ─► advance ─► COMMIT
 *
 * Who may write: any number of tickers. The row is taken with SKIP LOCKED, so one of them decides; another finds it
 * locked, or settled and no longer due. Lock order (SQL rule 8): schedule, then what an admission locks. A cancel of a
 * task, a claim and a finish never take the schedule's row; pause, resume and a change of the schedule wait for it.
 * Crash before COMMIT: no tick, no receipt, no run; the row is still due, and the next ticker decides by its own clock
 * (late ticks fall under the catch-up rule). Crash after COMMIT: everything stands; dispatch finds the runs. COMMIT
 * without an answer is one of the two, and the next look at the row says which.
 * A head that moves between its read and the COMMIT is found by the verdict before the lease.
 */
import type { Admission, Submission, Undertaken } from '@headgate/admission';
import {
  type DueTicks,
  dueTicks,
  type ReasonCode,
  type SignalAnswer,
  type TickRange,
} from '@headgate/domain';
import {
  type ActivePolicy,
  type Pool,
  type ScheduleRow,
  schedules,
  scheduleTicks,
  type TickBucket,
  type TickRow,
} from '@headgate/store';
import type { Heads } from '../repositories/heads.js';
import { pauseIfFailed } from './pause-on-failure.js';
import { routeOf, tenantOf } from './route-of.js';
import { settleTicks } from './settle-ticks.js';
import { canReadNone, readTargets, type ScheduleTarget } from './targets.js';
import { missedSignal } from './tick-signal.js';

export type Fired =
  /** Ticks were settled, or the row's next time was found out. */
  | { readonly kind: 'settled'; readonly ticks: number }
  /** Another ticker has it, or it is no longer due. */
  | { readonly kind: 'passed' }
  /** A run of it failed, and it says that this pauses it. */
  | { readonly kind: 'paused' }
  /** No source answers: it is asked again soon, and its ticks wait as long as the catch-up rule lets them. */
  | { readonly kind: 'held-back'; readonly detail: string };

export interface FireOptions {
  readonly pool: Pool;
  readonly admission: Admission;
  readonly heads: Heads;
  readonly active: ActivePolicy;
}

/** Submissions of one transaction: a turn that has more settles the oldest and leaves the row due. */
const MAX_SUBMISSIONS = 200;
const HOLD_BACK_MS = 10_000;

export async function fire(seen: ScheduleRow, options: FireOptions): Promise<Fired> {
  const { pool, heads, active } = options;
  const route = routeOf(seen, active);
  // What is due may differ under the lock; then it is looked at once more.
  const targets = dueOf(seen).run.length === 0 ? null : await readTargets(route, active.policy, heads);
  if (targets !== null && canReadNone(targets)) return holdBack(pool, seen, targets);

  let undertaken: Undertaken | null = null;
  const fired = await pool.transaction(async (c): Promise<Fired> => {
    undertaken = null;
    const row = await schedules.lockDue(c, seen.id);
    if (row === null) return { kind: 'passed' };
    const due = dueOf(row);
    if (due.run.length > 0 && targets === null) return { kind: 'passed' };
    if (await pauseIfFailed(c, row)) return { kind: 'paused' };
    const turn = turnOf(row, due, targets ?? []);
    const settled = await settleTicks(
      c,
      {
        row,
        route,
        origin: 'timer',
        overlap: row.spec.overlap,
        requestedBy: null,
        nominals: turn.nominals,
        targets: targets ?? [],
        first: due.missed === null ? null : missedOf(row, due.missed, options),
      },
      options,
    );
    undertaken = settled.undertaken;
    await scheduleTicks.record(c, [
      ...rangeRows(row, due.missed, 'missed', 'MISSED_CATCHUP', settled.firstAnswer),
      ...rangeRows(row, turn.excluded, 'excluded', 'SCHEDULE_EXCLUDED', null),
    ]);
    await schedules.advance(c, row.id, turn.settledUntil, turn.nextAt);
    return { kind: 'settled', ticks: settled.ticks };
  });
  // Read through a function: the callback's assignment is not seen from here.
  committed(undertaken);
  return fired;
}

export const committed = (undertaken: Undertaken | null): void => undertaken?.committed();

const dueOf = (row: ScheduleRow): DueTicks =>
  dueTicks({
    schedule: { times: row.spec, anchor: row.anchorAt },
    // A schedule begins with its row, or with the change that made it another one.
    lastNominalAt: row.lastNominalAt ?? row.anchorAt,
    now: row.now,
    catchUp: row.spec.catchUp,
    scheduleId: row.id,
    jitterMs: row.spec.jitterMs,
  });

interface Turn {
  readonly nominals: readonly Date[];
  readonly excluded: TickRange | null;
  readonly settledUntil: Date;
  readonly nextAt: Date | null;
}

export const mostNominals = (targets: readonly ScheduleTarget[]): number =>
  Math.max(1, Math.floor(MAX_SUBMISSIONS / Math.max(1, targets.length)));

function turnOf(row: ScheduleRow, due: DueTicks, targets: readonly ScheduleTarget[]): Turn {
  const nominals = due.run.slice(0, mostNominals(targets));
  const last = nominals.at(-1);
  if (nominals.length === due.run.length || last === undefined) {
    const { excluded, lastNominalAt: settledUntil, nextAt } = due;
    return { nominals, excluded, settledUntil, nextAt };
  }
  // Excluded days up to here are counted with what is settled here.
  const { excluded } = dueOf({ ...row, now: last });
  return { nominals, excluded, settledUntil: last, nextAt: row.now };
}

function missedOf(row: ScheduleRow, missed: TickRange, { active }: FireOptions): Submission {
  const detail = `${missed.count} nominal time(s) from ${missed.from.toISOString()} to ${missed.to.toISOString()}.`;
  return {
    signal: missedSignal(row, missed),
    tenant: tenantOf(row, active),
    payload: null,
    verdict: { outcome: 'no-work', reasonCode: 'MISSED_CATCHUP', detail, retryAfter: null },
    watermark: missed.to.toISOString(),
  };
}

/** A range stands for all targets of the schedule. */
const rangeRows = (
  row: ScheduleRow,
  range: TickRange | null,
  bucket: TickBucket,
  reasonCode: ReasonCode,
  answer: SignalAnswer | null,
): TickRow[] =>
  range === null
    ? []
    : [
        {
          scheduleId: row.id,
          tenantId: row.tenantId,
          origin: 'timer',
          nominalAt: range.from,
          untilAt: range.to,
          target: '',
          count: range.count,
          bucket,
          reasonCode,
          receiptId: answer?.receiptId ?? null,
        },
      ];

async function holdBack(pool: Pool, seen: ScheduleRow, targets: readonly ScheduleTarget[]): Promise<Fired> {
  await postpone(pool, seen, HOLD_BACK_MS);
  const [first] = targets;
  return { kind: 'held-back', detail: first?.head.kind === 'unavailable' ? first.head.detail : '' };
}

/** Looks at the schedule again later; nothing of it is settled. */
export const postpone = (pool: Pool, seen: ScheduleRow, delayMs: number): Promise<void> =>
  pool.transaction(async (c) => {
    const row = await schedules.lockDue(c, seen.id);
    if (row !== null) await schedules.advance(c, row.id, null, new Date(row.now.getTime() + delayMs));
  });
