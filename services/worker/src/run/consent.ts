/**
 * Whether a person said that this very result may be published: asked with what would be done now, not with what was
 * planned when they were asked (security 4).
 */
import { createHash } from 'node:crypto';
import {
  type ApprovalBinding,
  type ApprovalRequest,
  needsSecondPerson,
  type ProposedOperation,
  whyNotCovered,
} from '@headgate/domain';
import { type ActivePolicy, approvals, type Proposal, type Seal } from '@headgate/store';
import { type Job, whileTrusted } from './job.js';
import { type Destination, destinationOf } from './publication.js';

export type Consent =
  /** Publish it, there and nowhere else. */
  | { readonly kind: 'given'; readonly destination: Destination }
  /** Ask; `detail`: why an earlier word does not count any more. */
  | { readonly kind: 'missing'; readonly proposal: Proposal; readonly detail: string | null };

export async function consentTo(job: Job, seal: Seal, active: ActivePolicy): Promise<Consent> {
  const { run, parts } = job;
  const destination = await whileTrusted(job, () => destinationOf(job));
  const wanted: ApprovalBinding = {
    policyVersion: active.version,
    resultSha256: createHash('sha256').update(seal.bundle).digest('hex'),
    operations: operationsOf(job, seal, destination),
  };
  const request = await whileTrusted(job, () => parts.pool.use((c) => approvals.of(c, run.runId)));
  const objection = objectionTo(request, wanted);
  if (objection.kind === 'none') return { kind: 'given', destination };
  const { policyVersion, operations } = wanted;
  const fourEyes = needsSecondPerson(run.spec, active.policy);
  return { kind: 'missing', proposal: { policyVersion, operations, fourEyes }, detail: objection.detail };
}

type Objection = { readonly kind: 'none' } | { readonly kind: 'ask'; readonly detail: string | null };

function objectionTo(request: ApprovalRequest | null, wanted: ApprovalBinding): Objection {
  // The word that let the agent start was not for what the agent then made.
  if (request === null || request.subject !== 'proposal' || request.outcome !== 'approved') {
    return { kind: 'ask', detail: null };
  }
  const detail = whyNotCovered(request, wanted);
  return detail === null ? { kind: 'none' } : { kind: 'ask', detail };
}

function operationsOf({ run }: Job, seal: Seal, destination: Destination): readonly ProposedOperation[] {
  const { repository } = run.spec;
  if (repository === null || seal.commitSha === null) throw new Error('a result with changes has a commit');
  return [
    {
      kind: 'push',
      repository: repository.fullName,
      ref: destination.ref,
      commitSha: seal.commitSha,
      expectedOldSha: destination.expectedOldSha,
    },
  ];
}
