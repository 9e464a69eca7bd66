/** A run that did its work and pushed it, without a worker: its seal, its ledger row and its end. */
import { formatId, type RunId, systemIds, type TaskId, type WorkerId } from '@headgate/domain';
import { createLedger, publications, seals } from '@headgate/store';
import { claimRuns, dispatchedItems, finishRun } from './claims.js';
import { aDispatcher, type World } from './world.js';

export interface Published {
  readonly runId: RunId;
  readonly taskId: TaskId;
  /** Without `refs/heads/`. */
  readonly branch: string;
  readonly commitSha: string;
}

/** Takes the one run that waits through to its confirmed push of `commitSha`. */
export async function publishNext(world: World, worker: WorkerId, commitSha: string): Promise<Published> {
  const dispatcher = aDispatcher(world);
  await dispatcher.scan();
  await dispatcher.turn({ wait: true });
  const [run, ...others] = await claimRuns(world, worker, await dispatchedItems(world));
  if (run === undefined || others.length > 0) throw new Error('not exactly one run waits');
  const { runId, fencingToken, leaseId, attemptId, taskId, publication } = run;
  const fence = { runId, fencingToken, leaseId };
  const pool = world.database.service;
  const standing = await pool.use((c) => publications.branchOf(c, taskId, publication));
  const branch =
    standing?.ref.replace('refs/heads/', '') ?? `agent/${formatId('task', taskId)}/${formatId('run', runId)}`;
  await seals.put(
    pool,
    fence,
    attemptId,
    {
      verdict: 'changes',
      baseVersion: run.inputVersion,
      commitSha,
      verification: null,
      summary: null,
      bundle: Buffer.from('bundle'),
    },
    branch,
  );
  const ledger = createLedger(pool, { tenantId: run.tenantId, ids: systemIds, actor: 'test' });
  const key = `push:${runId}`;
  const intent = {
    remoteUrl: '/nowhere/api.git',
    ref: `refs/heads/${branch}`,
    commitSha,
    expectedOldSha: standing?.commitSha ?? null,
  };
  await ledger.intend({ key, kind: 'push', fence, intent });
  await ledger.attempt({ key, fence });
  await ledger.confirm({
    key,
    evidence: { sha: commitSha },
    externalId: `${branch}@${commitSha}`,
    url: null,
  });
  await finishRun(world, run);
  return { runId, taskId, branch, commitSha };
}
