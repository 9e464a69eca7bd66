/** CLAIMED to PREPARING_SANDBOX: the files of exactly one commit, in a folder of this attempt. */
import { isBranchRef, isSha, lsRemote } from '@headgate/git';
import { prepareWorkspace, type Workspace } from '@headgate/runtimes';
import { failPoint, testSignal } from '@headgate/telemetry';
import { deadline } from './deadline.js';
import { type Ending, ended, endedWith, failed, go, type Step } from './ending.js';
import { type Job, stopOf } from './job.js';

export async function prepare(job: Job): Promise<Step<Workspace>> {
  const { run, parts } = job;
  const { repository, target } = run.spec;
  if (repository === null) {
    return ended(failed('TASK_CONTRACT_INVALID', 'the work names no repository, and an agent works on one'));
  }
  parts.stages.enter(job.lease, 'PREPARING_SANDBOX', job.actor);
  const bound = deadline(job.startByMs - parts.clock.monotonicMs(), job.lease.stopSignal);
  try {
    const branch = target?.ref ?? repository.defaultBranch;
    const ref = branch === null ? null : `refs/heads/${branch}`;
    const base = await baseOf(
      job,
      repository.url,
      ref !== null && isBranchRef(ref) ? ref : null,
      bound.signal,
    );
    if (base.kind === 'ended') return base;
    const prepared = await prepareWorkspace({
      mirrorsDir: parts.paths.mirrors,
      workspacesDir: parts.paths.workspaces,
      runId: run.runId,
      attempt: run.attemptNo,
      repositoryUrl: repository.url,
      sha: base.value,
      ref: ref !== null && isBranchRef(ref) ? ref : null,
      signal: bound.signal,
    });
    const stop = await stopOf(job);
    if (stop !== null) return ended(stop);
    if (bound.isOver) return ended(tooSlow(job));
    switch (prepared.kind) {
      case 'ready':
        await failPoint('worker.workspace.prepared');
        testSignal('worker.prepared', { runId: run.runId });
        return go(prepared.workspace);
      case 'gone':
        return ended(endedWith({ kind: 'no-work', reasonCode: 'STALE_INPUT', detail: prepared.detail }));
      case 'transient':
        return ended(failed(prepared.code, prepared.detail));
      case 'aborted':
        return ended(failed('SANDBOX_FAILED', 'preparing the workspace was stopped'));
    }
  } finally {
    bound.clear();
  }
}

/** The commit to work on: the input version where it is one, else where the target stood at the verdict. */
async function baseOf(job: Job, url: string, ref: string | null, signal: AbortSignal): Promise<Step<string>> {
  const { inputVersion } = job.run;
  if (isSha(inputVersion)) return go(inputVersion);
  if (job.headSha !== null) return go(job.headSha);
  if (ref === null) return ended(failed('TASK_CONTRACT_INVALID', 'the work names no branch to begin at'));
  const read = await lsRemote(url, [ref], { signal });
  if (read.kind === 'unavailable') return ended(failed('GIT_CLONE_FAILED_TRANSIENT', read.detail));
  const sha = read.refs.get(ref);
  return sha === undefined
    ? ended(endedWith({ kind: 'no-work', reasonCode: 'TARGET_CLOSED', detail: `${ref} is gone` }))
    : go(sha);
}

const tooSlow = (job: Job): Ending =>
  failed(
    'SANDBOX_START_TIMEOUT',
    `the workspace was not ready within ${job.run.spec.limits.sandboxStartMs} ms of the claim`,
  );
