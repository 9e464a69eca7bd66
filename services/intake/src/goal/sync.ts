/**
 * Brings the goals in line with the active policy: one for each route's goal and each repository that it reaches. Any
 * number of intakes may do so; the id is drawn once, with its row. A changed goal begins anew.
 */
import type { GoalSpec, Ids, Policy } from '@headgate/domain';
import { type ActivePolicy, type GoalKey, goals, type Pool } from '@headgate/store';
import { reachedBy, repositoryRef } from '../repositories/reached.js';

interface Wanted extends GoalKey {
  readonly repository: string;
  readonly spec: GoalSpec;
}

export async function syncGoals(pool: Pool, active: ActivePolicy, ids: Ids): Promise<void> {
  const wanted = goalsOf(active.policy, active.tenantIds);
  await pool.transaction(async (c) => {
    for (const goal of wanted) {
      await goals.ensure(c, { ...goal, id: ids.next('goal'), policyVersion: active.version });
    }
    await goals.retireOthers(c, wanted);
  });
}

/** In one order for all, as each is a lock. */
function goalsOf(policy: Policy, tenantIds: ReadonlyMap<string, number>): readonly Wanted[] {
  return policy.routes
    .flatMap((route): Wanted[] => {
      const tenantId = tenantIds.get(route.tenant);
      if (tenantId === undefined) return [];
      const repositories = reachedBy(route, policy).map(repositoryRef);
      return route.on.flatMap((on) =>
        on.kind !== 'goal'
          ? []
          : repositories.map(({ externalId, fullName }) => ({
              tenantId,
              route: route.id,
              ordinal: on.ordinal,
              target: externalId,
              repository: fullName,
              spec: on,
            })),
      );
    })
    .sort((a, b) => compare(keyOf(a), keyOf(b)));
}

const keyOf = ({ tenantId, route, ordinal, target }: GoalKey): string =>
  JSON.stringify([tenantId, route, ordinal, target]);
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
