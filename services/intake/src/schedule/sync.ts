/**
 * Brings the schedule rows in line with the active policy. Any number of intakes may do so; the id of a schedule is
 * drawn once, with its row, and stays while its route and its place in the route's list stay.
 *
 * A schedule that changes or goes leaves no nominal time without a bucket: what it had not settled is discarded, or
 * counted as paused. Each row is locked against ticks; a crash before COMMIT leaves the old schedules.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Ids, Policy, ScheduleSpec } from '@headgate/domain';
import {
  type ActivePolicy,
  type Connection,
  type Pool,
  type ScheduleRow,
  schedules,
  settleUntilNow,
} from '@headgate/store';

interface Wanted {
  readonly tenantId: number;
  readonly route: string;
  readonly ordinal: number;
  readonly spec: ScheduleSpec;
}

/** Due at once: the first look at a new row finds out its first time, by the database's clock. */
const AT_ONCE = new Date(0);

export async function syncSchedules(pool: Pool, active: ActivePolicy, ids: Ids): Promise<void> {
  const wanted = schedulesOf(active.policy, active.tenantIds);
  await pool.transaction(async (c) => {
    for (const schedule of wanted) {
      const standing = await schedules.lockNamed(c, schedule);
      if (standing !== null && isLeft(standing, schedule.spec)) await leave(c, standing);
      await schedules.ensure(c, {
        ...schedule,
        id: ids.next('sch'),
        policyVersion: active.version,
        nextAt: AT_ONCE,
      });
    }
    for (const gone of await schedules.lockOthers(c, wanted)) await leave(c, gone);
    await schedules.retireOthers(c, wanted);
  });
}

const isLeft = (row: ScheduleRow, spec: ScheduleSpec): boolean =>
  row.state !== 'removed' && !isDeepStrictEqual(row.spec, JSON.parse(JSON.stringify(spec)));

const leave = (c: Connection, row: ScheduleRow): Promise<void> =>
  settleUntilNow(c, row, row.state === 'paused' ? 'paused' : 'discarded');

/** In one order for all, as each is a lock. */
function schedulesOf(policy: Policy, tenantIds: ReadonlyMap<string, number>): readonly Wanted[] {
  return policy.routes
    .flatMap((route): Wanted[] => {
      const tenantId = tenantIds.get(route.tenant);
      if (tenantId === undefined) return [];
      return route.on.flatMap((on) =>
        on.kind === 'schedule' ? [{ tenantId, route: route.id, ordinal: on.ordinal, spec: on }] : [],
      );
    })
    .sort((a, b) => a.tenantId - b.tenantId || compare(a.route, b.route) || a.ordinal - b.ordinal);
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
