/**
 * Nominal times of a schedule, settled: overlap decided per target, admission, runs stopped, rows written. The same for
 * the timer, a person's "run now" and a back-fill (INV-SC3). In the caller's transaction, under the schedule's row lock.
 */
import { type Submission, type Undertaken, workOf } from '@headgate/admission';
import {
  hashWorkKey,
  type OverlapPolicy,
  type RoutePolicy,
  type RunId,
  type SignalAnswer,
} from '@headgate/domain';
import {
  type Connection,
  type ScheduleRow,
  scheduleTicks,
  stopRuns,
  type TickOrigin,
  type TickRow,
  taskVersions,
} from '@headgate/store';
import type { FireOptions } from './fire.js';
import { type PlannedTick, planTicks } from './plan-ticks.js';
import { tenantOf } from './route-of.js';
import type { ScheduleTarget } from './targets.js';
import { tickSignal } from './tick-signal.js';

export interface TickBatch {
  readonly row: ScheduleRow;
  readonly route: RoutePolicy | null;
  readonly origin: TickOrigin;
  readonly overlap: OverlapPolicy;
  /** Who asked, if it was a person. */
  readonly requestedBy: string | null;
  /** Oldest first. */
  readonly nominals: readonly Date[];
  readonly targets: readonly ScheduleTarget[];
  /** Decided together with them, before them: what was missed. */
  readonly first: Submission | null;
}

export interface SettledTicks {
  /** Nobody is told before the COMMIT. */
  readonly undertaken: Undertaken | null;
  /** The receipt of `first`. */
  readonly firstAnswer: SignalAnswer | null;
  readonly ticks: number;
}

export async function settleTicks(
  c: Connection,
  batch: TickBatch,
  options: FireOptions,
): Promise<SettledTicks> {
  const plan = await planOf(c, batch, options);
  const submissions = [
    ...(batch.first === null ? [] : [batch.first]),
    ...plan.map((tick) => tick.submission),
  ];
  if (submissions.length === 0) return { undertaken: null, firstAnswer: null, ticks: 0 };
  const undertaken = await options.admission.within(c, submissions);
  const answers = batch.first === null ? undertaken.answers : undertaken.answers.slice(1);
  await terminate(c, plan, answers);
  await scheduleTicks.record(
    c,
    plan.flatMap((tick, at) => tickRow(batch, tick, answers[at])),
  );
  const firstAnswer = batch.first === null ? null : (undertaken.answers[0] ?? null);
  return { undertaken, firstAnswer, ticks: plan.length };
}

async function planOf(
  c: Connection,
  batch: TickBatch,
  { active }: FireOptions,
): Promise<readonly PlannedTick[]> {
  const { row, route, nominals, targets } = batch;
  const [first] = nominals;
  if (first === undefined) return [];
  const hashes = new Map<string, Buffer>();
  for (const target of targets) {
    const work = route === null ? null : workOf(tickSignal(batch, first, target), route).work;
    if (work !== null) hashes.set(target.key, hashWorkKey(work.workKey));
  }
  const rows = await taskVersions.liveOfKeys(c, row.tenantId, [...hashes.values()]);
  const live = new Map(
    [...hashes].map(([key, hash]): [string, RunId[]] => [
      key,
      rows.filter((run) => run.keyHash.equals(hash)).map((run) => run.runId),
    ]),
  );
  return planTicks({ batch, tenant: tenantOf(row, active), live });
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

const tickRow = (
  { row, origin }: TickBatch,
  tick: PlannedTick,
  answer: SignalAnswer | undefined,
): TickRow[] =>
  answer === undefined
    ? []
    : [
        {
          scheduleId: row.id,
          tenantId: row.tenantId,
          origin,
          nominalAt: tick.nominalAt,
          untilAt: tick.nominalAt,
          target: tick.target.key,
          count: 1,
          // It waits only if there is a run that can.
          bucket: tick.bucket === 'buffered' && answer.reasonCode !== 'ADMITTED' ? 'fired' : tick.bucket,
          reasonCode: tick.reasonCode ?? answer.reasonCode,
          receiptId: answer.receiptId,
        },
      ];
