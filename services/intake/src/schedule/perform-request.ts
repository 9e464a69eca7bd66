/**
 * A person's "run now" or back-fill, as a ticker does it.
 *
 *   (heads are read) ─► BEGIN ─► schedule row locked ─► request row locked ─► next nominal times ─► settle ─► COMMIT
 *
 * Who may write: any number of tickers; the schedule's row lock and the request's state let one of them do each step.
 * A step settles at most what one transaction may hold, so a long back-fill takes several and others have their turn.
 * Crash before COMMIT: nothing of the step; after it the cursor says where to go on. A nominal time that the timer or
 * an earlier back-fill fired is left alone, so asking twice makes nothing new (INV-SC5).
 * A paused schedule does what a person asks; a removed one refuses.
 */
import type { Undertaken } from '@headgate/admission';
import { nextTicks, ticksIn } from '@headgate/domain';
import {
  type Connection,
  type ScheduleRequest,
  type ScheduleRow,
  scheduleRequests,
  schedules,
  scheduleTicks,
} from '@headgate/store';
import { committed, type FireOptions, mostNominals } from './fire.js';
import { routeOf } from './route-of.js';
import { settleTicks } from './settle-ticks.js';
import { canReadNone, readTargets, type ScheduleTarget } from './targets.js';

export type Performed =
  | { readonly kind: 'settled'; readonly ticks: number; readonly isDone: boolean }
  | { readonly kind: 'passed' }
  | { readonly kind: 'refused'; readonly detail: string }
  /** Its source cannot be read: asked again at the next look. */
  | { readonly kind: 'held-back'; readonly detail: string };

const REMOVED = 'The schedule is no longer in the configuration.';

export async function performRequest(seen: ScheduleRequest, options: FireOptions): Promise<Performed> {
  const { pool, heads, active } = options;
  const standing = await pool.use((c) => schedules.find(c, seen.scheduleId));
  const route = standing === null ? null : routeOf(standing, active);
  if (standing === null || route === null) return refuse(seen, options);
  const targets = await readTargets(route, active.policy, heads);
  if (canReadNone(targets)) {
    const [first] = targets;
    return { kind: 'held-back', detail: first?.head.kind === 'unavailable' ? first.head.detail : '' };
  }
  let undertaken: Undertaken | null = null;
  const performed = await pool.transaction(async (c): Promise<Performed> => {
    undertaken = null;
    const row = await schedules.lockById(c, seen.scheduleId);
    const request = row === null ? null : await scheduleRequests.lock(c, seen.id);
    if (row === null || request === null) return { kind: 'passed' };
    const step = await stepOf(c, row, request, targets);
    const settled = await settleTicks(
      c,
      {
        row,
        route,
        origin: request.kind,
        overlap: request.overlap ?? row.spec.overlap,
        requestedBy: request.requestedBy,
        nominals: step.nominals,
        targets,
        first: null,
      },
      options,
    );
    undertaken = settled.undertaken;
    await scheduleRequests.proceed(c, request.id, {
      cursorAt: step.cursorAt,
      ticks: settled.ticks,
      state: step.isDone ? 'done' : 'pending',
      detail: null,
    });
    return { kind: 'settled', ticks: settled.ticks, isDone: step.isDone };
  });
  committed(undertaken);
  return performed;
}

interface Step {
  readonly nominals: readonly Date[];
  readonly cursorAt: Date;
  readonly isDone: boolean;
}

async function stepOf(
  c: Connection,
  row: ScheduleRow,
  request: ScheduleRequest,
  targets: readonly ScheduleTarget[],
): Promise<Step> {
  const { fromAt, untilAt, cursorAt } = request;
  if (request.kind === 'trigger') return { nominals: [fromAt], cursorAt: untilAt, isDone: true };
  const after = cursorAt ?? new Date(fromAt.getTime() - 1);
  const clock = { times: row.spec, anchor: row.anchorAt };
  const left = ticksIn(clock, { after, until: untilAt }).kept?.count ?? 0;
  const nominals = nextTicks(clock, after, Math.min(left, mostNominals(targets)));
  const last = nominals.at(-1);
  const isDone = nominals.length === left || last === undefined;
  const done = last === undefined ? [] : await scheduleTicks.doneTimes(c, row.id, after, last);
  const doneMs = new Set(done.map((at) => at.getTime()));
  return {
    nominals: nominals.filter((at) => !doneMs.has(at.getTime())),
    cursorAt: isDone || last === undefined ? untilAt : last,
    isDone,
  };
}

const refuse = (seen: ScheduleRequest, { pool }: FireOptions): Promise<Performed> =>
  pool.transaction(async (c): Promise<Performed> => {
    const request = await scheduleRequests.lock(c, seen.id);
    if (request === null) return { kind: 'passed' };
    await scheduleRequests.proceed(c, seen.id, {
      cursorAt: null,
      ticks: 0,
      state: 'refused',
      detail: REMOVED,
    });
    return { kind: 'refused', detail: REMOVED };
  });
