/**
 * One schedule that is due: its ticks, their receipts and runs, and the row's advance, in one transaction.
 *
 *   (heads are read) ─► BEGIN ─► schedule row locked ─► due times ─► overlap ─► admission ─► tick rows ─► advance ─► COMMIT
 *
 * Who may write: any number of tickers. The row is taken with SKIP LOCKED, so one of them decides; another finds it
 * locked, or settled and no longer due. Lock order (SQL rule 8): schedule, then what an admission locks. A cancel of a
 * task, a claim and a finish never take the schedule's row.
 * Crash before COMMIT: no tick, no receipt, no run; the row is still due, and the next ticker decides by its own clock
 * (late ticks fall under the catch-up rule). Crash after COMMIT: everything stands; dispatch finds the runs. COMMIT
 * without an answer is one of the two, and the next look at the row says which.
 * A head that moves between its read and the COMMIT is found by the verdict before the lease.
 */
import type { Admission, Submission, Undertaken } from '@headgate/admission';
import { workOf } from '@headgate/admission';
import {
  type DueTicks,
  dueTicks,
  hashWorkKey,
  type MissedTicks,
  type Policy,
  type RoutePolicy,
  type RunId,
  type SignalAnswer,
} from '@headgate/domain';
import {
  type ActivePolicy,
  type Connection,
  type Pool,
  type ScheduleRow,
  schedules,
  stopRuns,
  type TickRow,
  taskVersions,
} from '@headgate/store';
import type { Heads } from '../repositories/heads.js';
import { type PlannedTick, planTicks } from './plan-ticks.js';
import { canReadNone, readTargets, type ScheduleTarget } from './targets.js';
import { missedSignal, tickSignal } from './tick-signal.js';

export type Fired =
  /** Ticks were settled, or the row's next time was found out. */
  | { readonly kind: 'settled'; readonly ticks: number }
  /** Another ticker has it, or it is no longer due. */
  | { readonly kind: 'passed' }
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
  const route = routeOf(seen, active.policy, active.tenantIds);
  // What is due may differ under the lock; then it is looked at once more.
  const targets = dueOf(seen).run.length === 0 ? null : await readTargets(route, active.policy, heads);
  if (targets !== null && canReadNone(targets)) return holdBack(pool, seen, targets);

  let undertaken: Undertaken | null = null;
  const ticks = await pool.transaction(async (c) => {
    undertaken = null;
    const row = await schedules.lockDue(c, seen.id);
    if (row === null) return null;
    const due = dueOf(row);
    if (due.run.length > 0 && targets === null) return null;
    const turn = turnOf(row, due, targets ?? []);
    const plan = await planOf(c, row, route, turn.nominals, targets ?? [], options);
    const missed = due.missed === null ? null : missedOf(row, due.missed, options);
    const submissions = [...(missed === null ? [] : [missed]), ...plan.map((tick) => tick.submission)];
    undertaken = submissions.length === 0 ? null : await options.admission.within(c, submissions);
    const answers = undertaken?.answers ?? [];
    const tickAnswers = missed === null ? answers : answers.slice(1);
    await terminate(c, plan, tickAnswers);
    await schedules.recordTicks(c, [
      ...(due.missed === null ? [] : missedRows(row, due.missed, targets ?? [], answers[0])),
      ...plan.flatMap((tick, at) => tickRow(row, tick, tickAnswers[at])),
    ]);
    await schedules.advance(c, row.id, turn.settledUntil, turn.nextAt);
    return plan.length;
  });
  // Read through a function: the callback's assignment is not seen from here.
  committed(undertaken);
  return ticks === null ? { kind: 'passed' } : { kind: 'settled', ticks };
}

const committed = (undertaken: Undertaken | null): void => undertaken?.committed();

const dueOf = (row: ScheduleRow): DueTicks =>
  dueTicks({
    spec: row.spec.cron,
    timezone: row.spec.timezone,
    // A schedule begins with its row, or with the change that made it another one.
    lastNominalAt: row.lastNominalAt ?? row.anchorAt,
    now: row.now,
    catchUp: row.spec.catchUp,
    scheduleId: row.id,
    jitterMs: row.spec.jitterMs,
    anchor: row.anchorAt,
  });

interface Turn {
  readonly nominals: readonly Date[];
  readonly settledUntil: Date;
  readonly nextAt: Date | null;
}

function turnOf(row: ScheduleRow, due: DueTicks, targets: readonly ScheduleTarget[]): Turn {
  const most = Math.max(1, Math.floor(MAX_SUBMISSIONS / Math.max(1, targets.length)));
  const nominals = due.run.slice(0, most);
  const last = nominals.at(-1);
  if (nominals.length === due.run.length || last === undefined) {
    return { nominals, settledUntil: due.lastNominalAt, nextAt: due.nextAt };
  }
  return { nominals, settledUntil: last, nextAt: row.now };
}

async function planOf(
  c: Connection,
  row: ScheduleRow,
  route: RoutePolicy | null,
  nominals: readonly Date[],
  targets: readonly ScheduleTarget[],
  { active }: FireOptions,
): Promise<readonly PlannedTick[]> {
  const [first] = nominals;
  if (first === undefined) return [];
  const hashes = new Map<string, Buffer>();
  for (const target of targets) {
    const work = route === null ? null : workOf(tickSignal(row, first, target, route), route).work;
    if (work !== null) hashes.set(target.key, hashWorkKey(work.workKey));
  }
  const rows = await taskVersions.liveOfKeys(c, row.tenantId, [...hashes.values()]);
  const live = new Map(
    [...hashes].map(([key, hash]): [string, RunId[]] => [
      key,
      rows.filter((run) => run.keyHash.equals(hash)).map((run) => run.runId),
    ]),
  );
  return planTicks({ row, tenant: tenantOf(row, active), route, nominals, targets, live });
}

/** What `terminateOther` stops beyond a supersede: runs that were about to finish. */
async function terminate(
  c: Connection,
  plan: readonly PlannedTick[],
  answers: readonly SignalAnswer[],
): Promise<void> {
  const stops = plan.flatMap((tick, at) =>
    answers[at]?.reasonCode === 'ADMITTED'
      ? tick.terminate.map((runId) => ({
          runId,
          kind: 'cancel' as const,
          reasonCode: 'SUPERSEDED' as const,
          actor: 'schedule',
        }))
      : [],
  );
  await stopRuns(c, stops);
}

const tickRow = (row: ScheduleRow, tick: PlannedTick, answer: SignalAnswer | undefined): TickRow[] =>
  answer === undefined
    ? []
    : [
        {
          scheduleId: row.id,
          tenantId: row.tenantId,
          nominalAt: tick.nominalAt,
          untilAt: tick.nominalAt,
          target: tick.target.key,
          count: 1,
          bucket: tick.bucket,
          reasonCode: tick.reasonCode ?? answer.reasonCode,
          receiptId: answer.receiptId,
        },
      ];

function missedOf(row: ScheduleRow, missed: MissedTicks, { active }: FireOptions): Submission {
  const detail = `${missed.count} nominal time(s) from ${missed.from.toISOString()} to ${missed.to.toISOString()}.`;
  return {
    signal: missedSignal(row, missed),
    tenant: tenantOf(row, active),
    payload: null,
    verdict: { outcome: 'no-work', reasonCode: 'MISSED_CATCHUP', detail, retryAfter: null },
    watermark: missed.to.toISOString(),
  };
}

/** One range for each target, so that the buckets of each add up. */
const missedRows = (
  row: ScheduleRow,
  missed: MissedTicks,
  targets: readonly ScheduleTarget[],
  answer: SignalAnswer | undefined,
): TickRow[] =>
  (targets.length === 0 ? [''] : targets.map(({ key }) => key)).map((target) => ({
    scheduleId: row.id,
    tenantId: row.tenantId,
    nominalAt: missed.from,
    untilAt: missed.to,
    target,
    count: missed.count,
    bucket: 'missed',
    reasonCode: 'MISSED_CATCHUP',
    receiptId: answer?.receiptId ?? null,
  }));

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

const tenantOf = (row: ScheduleRow, { tenantIds }: ActivePolicy): string =>
  [...tenantIds].find(([, id]) => id === row.tenantId)?.[0] ?? '';

/** Null: the route is gone, and the schedule will be retired. */
const routeOf = (
  row: ScheduleRow,
  policy: Policy,
  tenantIds: ReadonlyMap<string, number>,
): RoutePolicy | null =>
  policy.routes.find((route) => route.id === row.route && tenantIds.get(route.tenant) === row.tenantId) ??
  null;
