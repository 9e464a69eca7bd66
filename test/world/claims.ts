/** Claims and finishes without a worker: what a worker writes, and nothing else. */
import { type RunId, type RunSpec, systemIds, type WorkerId } from '@headgate/domain';
import { type AttemptOutcome, type ClaimedRun, claim, type FinishAnswer, finish } from '@headgate/store';
import type { World } from './world.js';

/** As a worker holds it: the claim, and the specification that it was judged by. */
export type LeasedRun = ClaimedRun & { readonly spec: RunSpec };

/** Claims dispatched runs, found fresh just now. */
export async function claimRuns(
  world: World,
  workerId: WorkerId,
  runs: readonly { readonly runId: RunId; readonly dispatchNo: number }[],
): Promise<readonly LeasedRun[]> {
  const { database, dimensions, active } = world;
  const queueIds = active.policy.queues.map((queue) =>
    dimensions.id({ tenantId: 0, kind: 'queue', key: queue.id }),
  );
  const claimed = await claim(database.service, {
    workerId,
    queueIds,
    ttlMs: 60_000,
    policyVersion: active.version,
    hinted: runs.map((run) => ({
      ...run,
      attemptId: systemIds.next('att'),
      leaseId: systemIds.next('lease'),
      judgedAgoMs: 0,
    })),
    limit: runs.length,
    verdictMaxAgeMs: 30_000,
  });
  if (claimed.kind !== 'claimed') throw new Error(`the claim answered ${claimed.kind}`);
  const ids = claimed.runs.map((run) => run.runId);
  const rows = await world.sql<{ id: RunId; spec: RunSpec }>(
    'select id, spec from headgate.run where id = any ($1::uuid[])',
    [ids],
  );
  const specs = new Map(rows.map((row) => [row.id, row.spec]));
  return claimed.runs.map((run) => {
    const spec = specs.get(run.runId);
    if (spec === undefined) throw new Error(`there is no run ${run.runId}`);
    return { ...run, spec };
  });
}

/** All dispatched items, as a polling worker would find them. */
export const dispatchedItems = (world: World): Promise<{ runId: RunId; dispatchNo: number }[]> =>
  world.sql(
    `select run_id as "runId", dispatch_no as "dispatchNo" from headgate.queue_item where state = 'dispatched' order by run_id`,
  );

export async function finishRun(
  world: World,
  run: ClaimedRun,
  result: AttemptOutcome = { kind: 'succeeded', reasonCode: 'SUCCEEDED' },
  { evidence = null, costUsd = 0 }: { readonly evidence?: unknown; readonly costUsd?: number } = {},
): Promise<FinishAnswer | undefined> {
  const { runId, fencingToken, leaseId, attemptId } = run;
  const answers = await finish(
    world.database.service,
    [
      {
        fence: { runId, fencingToken, leaseId },
        attemptId,
        result,
        costUsd,
        evidence,
        actor: 'test',
      },
    ],
    () => 0,
  );
  return answers.get(runId);
}
