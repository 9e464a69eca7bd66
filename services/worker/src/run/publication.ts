/**
 * Where a result is published: one branch per task and publication, `agent/{task}/{first publishing run}`. Later runs
 * of it move that branch, from exactly what our ledger last confirmed there.
 */
import { operationKey } from '@headgate/domain';
import { branchRef, type PushIntent, readPushIntent, runBranch } from '@headgate/effects';
import { createLedger, publications } from '@headgate/store';
import type { Job } from './job.js';

export interface Destination {
  /** `refs/heads/…` */
  readonly ref: string;
  /** Null: it must not exist yet. */
  readonly expectedOldSha: string | null;
}

export const ledgerOf = ({ run, parts }: Job): ReturnType<typeof createLedger> =>
  createLedger(parts.pool, { tenantId: run.tenantId, ids: parts.ids, actor: 'applier' });

/** The push's identity: the same for every attempt of the run. */
export const pushKey = ({ run }: Job): string =>
  operationKey({
    kind: 'push',
    workKey: run.spec.workKey,
    generation: run.generation,
    targetVersion: run.inputVersion,
  });

/** The branch (without `refs/heads/`) that this run would publish to now. */
export async function branchFor(job: Job): Promise<string> {
  const { run, parts } = job;
  if (run.branch !== null) return run.branch;
  const published = await parts.pool.use((c) => publications.branchOf(c, run.taskId, run.publication));
  return published === null ? runBranch(run.taskId, run.runId) : published.ref.replace(/^refs\/heads\//, '');
}

/**
 * Where to push, and from what. What an earlier attempt of this run has written down counts first: the ledger takes
 * one intent per key, and a confirmed push must be found as the one that it was.
 */
export async function destinationOf(job: Job): Promise<Destination> {
  const { run, parts } = job;
  const intended = await intentOf(job);
  if (intended !== null) return { ref: intended.ref, expectedOldSha: intended.expectedOldSha };
  const ref = branchRef(await branchFor(job));
  const published = await parts.pool.use((c) => publications.branchOf(c, run.taskId, run.publication));
  return { ref, expectedOldSha: published?.ref === ref ? published.commitSha : null };
}

async function intentOf(job: Job): Promise<PushIntent | null> {
  const operation = await ledgerOf(job).find(pushKey(job));
  return operation === null ? null : readPushIntent(operation);
}
