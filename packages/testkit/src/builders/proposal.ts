/** Runs whose result is sealed and waits for a person, as their worker leaves them. */
import { createHash } from 'node:crypto';
import type { ProposedOperation, Word } from '@headgate/domain';
import {
  type AttemptOutcome,
  type Database,
  type Heard,
  type Proposal,
  type RestoredItem,
  type Said,
  type Seal,
  sayWord,
  seals,
} from '@headgate/store';
import { claimRun, finishRun, type SeededLease } from './progress.js';
import { type RunSeed, type SeededRun, seedRun } from './run.js';

export const aProposedPush = (change: Partial<ProposedOperation> = {}): ProposedOperation => ({
  kind: 'push',
  repository: 'acme/api',
  ref: 'refs/heads/agent/task/run',
  commitSha: 'c'.repeat(40),
  expectedOldSha: null,
  ...change,
});

export const aProposal = (change: Partial<Proposal> = {}): Proposal => ({
  policyVersion: 1,
  operations: [aProposedPush()],
  fourEyes: false,
  ...change,
});

/** How an attempt ends whose result a person has to publish. */
export const needsApproval = (
  change: Partial<Proposal> = {},
): Extract<AttemptOutcome, { kind: 'needs-approval' }> => ({
  kind: 'needs-approval',
  proposal: aProposal(change),
  detail: null,
});

export const aSeal = (change: Partial<Seal> = {}): Seal => ({
  verdict: 'changes',
  baseVersion: 'a'.repeat(40),
  commitSha: 'c'.repeat(40),
  verification: null,
  summary: null,
  bundle: Buffer.from('a bundle'),
  ...change,
});

export interface SeededProposal extends SeededRun {
  readonly resultSha256: string;
  /** Of the attempt that sealed; it is gone. */
  readonly lease: SeededLease;
}

/** A run that waits for somebody to publish it. */
export async function proposedRun(
  db: Database,
  seed: RunSeed = {},
  change: Partial<Proposal> = {},
): Promise<SeededProposal> {
  const run = await seedRun(db, { ...seed, spec: { mode: 'propose', ...seed.spec } });
  const lease = await claimRun(db, run);
  const seal = aSeal();
  await seals.put(db.service, lease.fence, lease.attemptId, seal, null);
  const proposal = { policyVersion: run.tenant.policyVersion, ...change };
  await finishRun(db, lease, needsApproval(proposal));
  return { ...run, lease, resultSha256: createHash('sha256').update(seal.bundle).digest('hex') };
}

/** The place in the queue that a run gets back. */
export function itemAgain({ runId, taskId, tenant }: SeededRun): RestoredItem {
  return {
    runId,
    tenantId: tenant.id,
    taskId,
    exclusiveTask: true,
    headStartSeconds: 0,
    timeToLiveMs: null,
    organisationId: null,
    repositoryId: tenant.repositoryId,
    userId: null,
    taskTypeId: tenant.taskTypeId,
    risk: 0,
    queueId: tenant.queueId,
    agentId: tenant.agentId,
    providerId: null,
    sandboxId: null,
    concurrencyKey: null,
    concurrencyLimit: null,
    tokensPerMinute: 0,
    reservedUsd: 0,
    enqueuedAt: new Date(),
    expiresAt: null,
    delayMs: 0,
  };
}

/** A person says it. Null: there is no such run. */
export const say = (
  db: Database,
  run: SeededRun,
  word: Word,
  change: Partial<Said> = {},
): Promise<Heard | null> =>
  sayWord(db.service, {
    word,
    runId: run.runId,
    approvalId: null,
    actor: 'token:mona',
    reason: null,
    item: itemAgain(run),
    ...change,
  });
