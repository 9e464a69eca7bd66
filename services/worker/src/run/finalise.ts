/**
 * FINALIZING: what becomes of a sealed result. Never re-runs the agent; an attempt that found a seal begins here.
 *
 *   sealed ─► stage written ─► policy, and where it says so a person's word ─► push through the ledger ─► how it ends
 *
 * Crash points: after the seal and before the intent, the next attempt starts here; after the intent, it reads the
 * remote before it calls (effects/push). A cancel before the call stops it; after the call the branch is kept, and the
 * run ends CANCELLED with that as evidence.
 */
import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { type PerformPushResult, performPush } from '@headgate/effects';
import { ensureCommit } from '@headgate/git';
import { restoreBundle, writeOwner } from '@headgate/runtimes';
import { type Seal, seals } from '@headgate/store';
import { testSignal } from '@headgate/telemetry';
import { modeNow, permission } from '../hints/permission.js';
import { consentTo } from './consent.js';
import { deadline } from './deadline.js';
import { dropped, type Ending, type Evidence, ended, endedWith, failed, go, type Step } from './ending.js';
import { type Job, stopOf, whileTrusted } from './job.js';
import { type Destination, destinationOf, ledgerOf, pushKey } from './publication.js';
import type { SealedResult } from './result.js';

export async function finalise(job: Job, sealed: SealedResult): Promise<Ending> {
  const { parts, lease } = job;
  const stop = await stopOf(job);
  if (stop !== null) return stop;
  // Written before anything irreversible: a supersede leaves a run alone that is seen to be here.
  const arrived = await whileTrusted(job, () => parts.stages.arrive(lease, 'FINALIZING', job.actor));
  if (arrived === 'held') return endedWith({ kind: 'cancelled' }, sealed.evidence);
  if (arrived === 'lost') return dropped;
  const { seal, evidence } = sealed;
  if (seal.verdict === 'no-change')
    return endedWith({ kind: 'succeeded', reasonCode: 'NO_CHANGE' }, evidence);
  const allowed = await mayPublish(job, seal, evidence);
  return allowed.kind === 'ended'
    ? allowed.ending
    : publish(job, { seal, readyDir: sealed.gitDir, agreed: allowed.value }, evidence);
}

/** The seal of an earlier attempt. */
export async function resume(job: Job): Promise<Step<SealedResult>> {
  const seal = await whileTrusted(job, () => job.parts.pool.use((c) => seals.get(c, job.run.runId)));
  if (seal === null) throw new Error('the run is marked sealed, and its result is not there');
  return go({ seal, gitDir: null, evidence: { resumed: true } });
}

/**
 * Policy is asked before each irreversible action, under the version in force now (Q7). Gives where a person agreed to
 * publish; null: nobody had to be asked.
 */
async function mayPublish(job: Job, seal: Seal, evidence: Evidence): Promise<Step<Destination | null>> {
  const { run, parts } = job;
  const active = await whileTrusted(job, () => parts.currentPolicy());
  const allowed = permission(run.spec, run.source, active.policy);
  const judged = { ...evidence, policyVersion: active.version };
  if (allowed.kind === 'denied') {
    const { reasonCode, detail } = allowed;
    return ended(endedWith({ kind: 'policy-denied', reasonCode, detail }, judged));
  }
  const mode = modeNow(run.spec, allowed.route);
  if (mode === 'act') return go(null);
  if (mode === 'observe') {
    return ended(
      endedWith({ kind: 'succeeded', reasonCode: 'SUCCEEDED' }, { ...judged, mode, published: false }),
    );
  }
  const consent = await consentTo(job, seal, active);
  if (consent.kind === 'given') return go(consent.destination);
  const { proposal, detail } = consent;
  return ended(endedWith({ kind: 'needs-approval', proposal, detail }, { ...judged, mode }));
}

interface Publication {
  readonly seal: Seal;
  /** A repository of ours that holds the commit; null: it has to be restored. */
  readonly readyDir: string | null;
  /** Where a person agreed to; null: where the task publishes. */
  readonly agreed: Destination | null;
}

async function publish(
  job: Job,
  { seal, readyDir, agreed }: Publication,
  evidence: Evidence,
): Promise<Ending> {
  const { run, lease, parts } = job;
  const { repository, limits } = run.spec;
  const { commitSha } = seal;
  if (repository === null || commitSha === null) throw new Error('a result with changes has a commit');
  // Only the end of the right to act cuts a push off: cut off, it may have happened. When the worker has to go, the
  // push is given a moment more.
  const bound = deadline(limits.finalizeMs, lease.goneSignal);
  const leave = whenHandedBack(job, () => bound.abort(), parts.timing.pushGraceMs);
  try {
    const gitDir = readyDir === null ? await restored(job, seal, commitSha, bound.signal) : go(readyDir);
    if (gitDir.kind === 'ended') return gitDir.ending;
    const stop = await stopOf(job);
    if (stop !== null) return stop;
    const { ref, expectedOldSha } = agreed ?? (await whileTrusted(job, () => destinationOf(job)));
    testSignal('worker.pushing', { runId: run.runId, ref });
    const result = await whileTrusted(job, () =>
      performPush({
        ledger: ledgerOf(job),
        fence: lease.fence,
        key: pushKey(job),
        gitDir: gitDir.value,
        commitSha,
        remoteUrl: repository.url,
        ref,
        expectedOldSha,
        signal: bound.signal,
        mayCall: () => !lease.isGone,
        ...(parts.settleMs === null ? {} : { settleMs: parts.settleMs }),
      }),
    );
    if (lease.stop?.kind === 'hand-back' && result.kind === 'ambiguous') {
      return endedWith(
        { kind: 'handed-back', reasonCode: 'WORKER_DRAINED', retryAfterMs: null },
        { ...evidence, push: { kind: result.kind, ref, detail: result.detail } },
      );
    }
    return endingOf(result, { ...evidence, commitSha, push: { ref, kind: result.kind } });
  } finally {
    leave();
    bound.clear();
  }
}

/** Makes a repository with the sealed commit. */
async function restored(job: Job, seal: Seal, commitSha: string, signal: AbortSignal): Promise<Step<string>> {
  const { run, parts, folders } = job;
  const { repository, target } = run.spec;
  if (repository === null) throw new Error('a sealed result has a repository');
  await mkdir(folders.worker, { recursive: true, mode: 0o700 });
  await writeOwner(folders.ownerFile, run.leaseId);
  const branch = target?.ref ?? repository.defaultBranch;
  const base = await ensureCommit({
    mirrorsDir: parts.paths.mirrors,
    url: repository.url,
    sha: seal.baseVersion,
    ref: branch === null ? null : `refs/heads/${branch}`,
    signal,
  });
  switch (base.kind) {
    case 'gone':
      return ended(failed('SOURCE_MOVED', `what the result was built upon is gone: ${base.detail}`));
    case 'transient':
      return ended(failed('GIT_CLONE_FAILED_TRANSIENT', base.detail));
    case 'aborted':
      return ended(
        (await stopOf(job)) ?? failed('EFFECT_FAILED', 'the result could not be restored in time'),
      );
    case 'ready':
      break;
  }
  const { bundle } = seal;
  const result = await restoreBundle({
    bundle,
    sha256: createHash('sha256').update(bundle).digest('hex'),
    commitSha,
    baseSha: seal.baseVersion,
    mirror: base.mirror,
    gitDir: folders.resultGitDir,
    signal,
  });
  return result.kind === 'restored'
    ? go(folders.resultGitDir)
    : ended(
        (await stopOf(job)) ?? failed('INTERNAL_ERROR', `the sealed result is damaged: ${result.detail}`),
      );
}

function endingOf(result: PerformPushResult, evidence: Evidence): Ending {
  switch (result.kind) {
    case 'confirmed':
      return endedWith({ kind: 'succeeded', reasonCode: 'SUCCEEDED' }, evidence);
    case 'ambiguous':
      // The seal is kept: the next attempt reads the remote first, and only reconciles.
      return failed('EFFECT_FAILED', result.detail, evidence);
    case 'failed':
    case 'conflicted':
      return failed(result.reasonCode, result.detail, evidence);
    case 'refused':
      // The remote's rules, not a fault that passes: trying again would only be refused again.
      return endedWith(
        {
          kind: 'policy-denied',
          reasonCode: 'POLICY_DENIED',
          detail: `the remote refused the push: ${result.detail}`,
        },
        evidence,
      );
    case 'cancelled':
      return endedWith({ kind: 'cancelled' }, evidence);
    case 'fence-lost':
      return dropped;
  }
}

/** Calls `act` some time after the run was asked to be handed back. Returns what ends the waiting. */
function whenHandedBack({ lease }: Job, act: () => void, afterMs: number): () => void {
  let timer: NodeJS.Timeout | undefined;
  const onStop = (): void => {
    if (lease.stop?.kind === 'hand-back') timer = setTimeout(act, afterMs);
  };
  if (lease.stopSignal.aborted) onStop();
  else lease.stopSignal.addEventListener('abort', onStop, { once: true });
  return () => {
    clearTimeout(timer);
    lease.stopSignal.removeEventListener('abort', onStop);
  };
}
