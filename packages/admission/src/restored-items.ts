/** The queue items of runs that lost theirs, made again from what their rows say. Writes dimensions only. */
import type { Policy, RunId } from '@headgate/domain';
import {
  type Dimensions,
  type Pool,
  policies,
  type RestoredItem,
  type RunForItem,
  runs,
} from '@headgate/store';
import { type Counted, countedItem, countedKeysOf, organisationOf } from './counted-item.js';

export interface RestoreParts {
  readonly pool: Pool;
  readonly dimensions: Dimensions;
}

/** One for each run that exists, ready now. A specification never changes, so no lock is needed. */
export async function itemsOfRuns(
  { pool, dimensions }: RestoreParts,
  runIds: readonly RunId[],
): Promise<readonly RestoredItem[]> {
  if (runIds.length === 0) return [];
  const { rows, policyOf } = await pool.use(async (c) => {
    const found = await runs.forItem(c, runIds);
    const versions = [...new Set(found.map((run) => run.policyVersion))];
    const read = await Promise.all(versions.map((version) => policies.byVersion(c, version)));
    return {
      rows: found,
      policyOf: new Map(read.flatMap((one) => (one === null ? [] : [[one.version, one.policy] as const]))),
    };
  });
  const counted = rows.map((run) => countedOf(run, policyOf.get(run.policyVersion) ?? null));
  await dimensions.ensure(counted.flatMap((one) => countedKeysOf(one)));
  return rows.flatMap((run, at) => {
    const one = counted[at];
    if (one === undefined) return [];
    const { createdAt: enqueuedAt, wasClaimed } = run;
    // The time to live bounds the wait before the first claim.
    const expiresAt =
      wasClaimed || one.timeToLiveMs === null ? null : new Date(enqueuedAt.getTime() + one.timeToLiveMs);
    return [{ ...countedItem(one, dimensions), enqueuedAt, expiresAt, delayMs: 0 }];
  });
}

/** What is not on the run is in the policy that admitted it. */
function countedOf(run: RunForItem, policy: Policy | null): Counted {
  const route = policy?.routes.find((one) => one.id === run.route && one.tenant === run.tenant) ?? null;
  return {
    ...run,
    exclusiveTask: run.onNewVersion !== 'allow',
    timeToLiveMs: route?.timeToLiveMs ?? null,
    organisation: run.repositoryName === null ? null : organisationOf({ fullName: run.repositoryName }),
    // A key that no route wrote is that of a target: one run at a time.
    concurrency:
      run.concurrencyKey === null ? null : { key: run.concurrencyKey, limit: route?.concurrency?.limit ?? 1 },
  };
}
