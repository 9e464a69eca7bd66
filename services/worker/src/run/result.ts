/** From what the agent left to a sealed result: collect, VERIFYING, JUDGING, seal. */
import { isSha } from '@headgate/git';
import {
  agentEnvironment,
  type CollectResult,
  collectChanges,
  runVerify,
  sealBundle,
  type Workspace,
} from '@headgate/runtimes';
import { type Seal, seals } from '@headgate/store';
import { failPoint, testSignal } from '@headgate/telemetry';
import type { AgentRun } from './agent.js';
import { runCommandsOf } from './agent.js';
import { dropped, type Evidence, ended, failed, go, type Step } from './ending.js';
import { type Job, stopOf, whileTrusted } from './job.js';
import { branchFor } from './publication.js';

export interface SealedResult {
  readonly seal: Seal;
  /** A repository of ours that holds the commit; null: it has to be restored from the seal. */
  readonly gitDir: string | null;
  readonly evidence: Evidence;
}

export async function makeResult(
  job: Job,
  workspace: Workspace,
  agent: AgentRun,
): Promise<Step<SealedResult>> {
  const { run, parts } = job;
  const { limits, paths, protectedPaths } = run.spec;
  const collected = await collectChanges({
    workspace: workspace.folders.workspace,
    mirror: workspace.mirror,
    baseSha: workspace.baseSha,
    gitDir: workspace.folders.resultGitDir,
    limits: { changedFiles: limits.changedFiles, diffLines: limits.diffLines },
    paths,
    protectedPaths,
    signal: job.lease.stopSignal,
  });
  if (collected.kind === 'changes') await job.artifacts.write('changes.patch', collected.patch);
  await failPoint('worker.collected');
  testSignal('worker.collected', { runId: run.runId, kind: collected.kind });

  // Changes were collected before: what a verification leaves in the workspace is not the agent's result.
  const verified =
    collected.kind === 'changes' ? await verify(job, workspace) : go({ wallMs: 0, evidence: null });
  if (verified.kind === 'ended') return verified;
  await failPoint('worker.verified');

  const stop = await stopOf(job);
  if (stop !== null) return ended(stop);
  parts.stages.enter(job.lease, 'JUDGING', job.actor);
  const evidence = { ...agent.evidence, ...changesIn(collected), verify: verified.value.evidence };
  if (collected.kind === 'refused') return ended(failed(collected.reasonCode, collected.detail, evidence));
  await failPoint('worker.judged');
  return seal(job, workspace, agent, collected, evidence);
}

async function verify(job: Job, workspace: Workspace): ReturnType<typeof runCommandsOf> {
  const { spec } = job.run;
  if (spec.verify.length > 0) job.parts.stages.enter(job.lease, 'VERIFYING', job.actor);
  const env = agentEnvironment(workspace.folders, spec.agent.env);
  return runCommandsOf(job, workspace, 'verify', spec.limits.verifyMs, env, runVerify);
}

type Judged = Exclude<CollectResult, { kind: 'refused' }>;

async function seal(
  job: Job,
  workspace: Workspace,
  agent: AgentRun,
  collected: Judged,
  evidence: Evidence,
): Promise<Step<SealedResult>> {
  const made = await sealOf(job, workspace, agent, collected, evidence);
  if (made.kind === 'ended') return made;
  const stop = await stopOf(job);
  if (stop !== null) return ended(stop);
  const { run, parts, lease } = job;
  const written = await whileTrusted(job, async () => {
    const branch = made.value.verdict === 'changes' ? await branchFor(job) : null;
    return seals.put(parts.pool, lease.fence, run.attemptId, made.value, branch);
  });
  switch (written) {
    case 'lost':
      return ended((await stopOf(job)) ?? dropped);
    case 'too-large':
      return ended(
        failed('OUTPUT_LIMIT', `the sealed result has ${made.value.bundle.length} bytes`, evidence),
      );
    case 'already': {
      // Ours, after a commit whose answer was lost. The first seal stands.
      const standing = await whileTrusted(job, () => parts.pool.use((c) => seals.get(c, run.runId)));
      if (standing === null) throw new Error('a result was sealed before, and is not there');
      const isSame = standing.commitSha === made.value.commitSha;
      const gitDir = isSame ? workspace.folders.resultGitDir : null;
      return go({ seal: standing, gitDir, evidence });
    }
    case 'sealed':
      await failPoint('worker.sealed');
      testSignal('worker.sealed', { runId: run.runId, verdict: made.value.verdict });
      return go({ seal: made.value, gitDir: workspace.folders.resultGitDir, evidence });
  }
}

async function sealOf(
  job: Job,
  workspace: Workspace,
  agent: AgentRun,
  collected: Judged,
  evidence: Evidence,
): Promise<Step<Seal>> {
  const { run } = job;
  const common = { baseVersion: workspace.baseSha, summary: agent.summary, verification: evidence['verify'] };
  if (collected.kind === 'no-change') {
    return go({ ...common, verdict: 'no-change', commitSha: null, bundle: Buffer.alloc(0) });
  }
  const sealed = await sealBundle({
    gitDir: workspace.folders.resultGitDir,
    tree: collected.tree,
    baseSha: workspace.baseSha,
    runId: run.runId,
    title: titleOf(job),
    summary: agent.summary,
    // Of the run, not of the clock: every attempt that finds the same makes the same commit.
    committedAt: run.createdAt,
  });
  if (sealed.kind === 'refused') return ended(failed(sealed.reasonCode, sealed.detail, evidence));
  return go({ ...common, verdict: 'changes', commitSha: sealed.commitSha, bundle: sealed.bundle });
}

/** `fix-failing-check: main at 1a2b3c4`. Ours; the agent's words follow below it. */
function titleOf({ run: { spec, inputVersion } }: Job): string {
  const place = spec.target?.ref ?? spec.repository?.defaultBranch ?? spec.repository?.fullName ?? '';
  return `${spec.route}: ${place}${isSha(inputVersion) ? ` at ${inputVersion.slice(0, 7)}` : ''}`;
}

function changesIn(collected: CollectResult): Evidence {
  if (collected.kind !== 'changes') return {};
  const { files, diffLines, skipped } = collected;
  return { changes: { files: files.slice(0, MOST_FILES), fileCount: files.length, diffLines, skipped } };
}

/** Named in the evidence; the patch has them all. */
const MOST_FILES = 100;
