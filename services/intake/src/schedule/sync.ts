/**
 * Brings the schedule rows in line with the active policy. Any number of intakes may do so; the id of a schedule is
 * drawn once, with its row, and stays while its route and its place in the route's list stay.
 */
import type { Ids, Policy, TriggerOn } from '@headgate/domain';
import { type ActivePolicy, type Pool, schedules } from '@headgate/store';

interface Wanted {
  readonly tenantId: number;
  readonly route: string;
  readonly ordinal: number;
  readonly spec: Extract<TriggerOn, { kind: 'schedule' }>;
}

/** Due at once: the first look at a new row finds out its first time, by the database's clock. */
const AT_ONCE = new Date(0);

export async function syncSchedules(pool: Pool, active: ActivePolicy, ids: Ids): Promise<void> {
  const wanted = schedulesOf(active.policy, active.tenantIds);
  await pool.transaction(async (c) => {
    for (const schedule of wanted) {
      await schedules.ensure(c, {
        ...schedule,
        id: ids.next('sch'),
        policyVersion: active.version,
        nextAt: AT_ONCE,
      });
    }
    await schedules.retireOthers(c, wanted);
  });
}

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
