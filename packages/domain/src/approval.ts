/**
 * A person's word on a run that waits for one: what it is bound to, who may say it, what follows. Pure.
 *
 *   admission: WAITING_APPROVAL ─ approve ─► QUEUED        (nothing was done yet: the agent starts)
 *                               └ decline ─► POLICY_DENIED
 *   proposal:  WAITING_APPROVAL ─ publish ─► QUEUED        (the result is sealed: a worker performs its operations)
 *                               └ discard ─► CANCEL_REQUESTED ─► CANCELLING ─► CANCELLED
 *
 * Every time a run begins to wait is a request of its own, and a word is for one request: for the sealed result, the
 * operations and the policy version that stand in it, and for nothing that came later.
 */
import type { ApprovalId } from './ids.js';
import type { RunStatus } from './lifecycle.js';
import type { OperationKind } from './operation.js';
import type { Policy, Risk, TenantPolicy } from './policy.js';
import type { ReasonCode } from './reasons.js';

export const APPROVAL_SUBJECTS = ['admission', 'proposal'] as const;
export type ApprovalSubject = (typeof APPROVAL_SUBJECTS)[number];

/** `withdrawn`: the run was cancelled, or a newer version came, before anybody had said anything. */
export const APPROVAL_OUTCOMES = ['approved', 'declined', 'expired', 'withdrawn'] as const;
export type ApprovalOutcome = (typeof APPROVAL_OUTCOMES)[number];

/** How long a request stands: long enough for a holiday week, too short for a patch to be published out of the blue. */
export const APPROVAL_TTL_MS = 7 * 24 * 3_600_000;

/** One side effect that a person is asked about, as exactly as it will be performed. */
export interface ProposedOperation {
  readonly kind: OperationKind;
  /** `owner/name`. */
  readonly repository: string;
  /** `refs/heads/…` */
  readonly ref: string;
  readonly commitSha: string;
  /** What the reference stands at before; null = it does not exist. */
  readonly expectedOldSha: string | null;
}

/** What a request, and so a word on it, is bound to. */
export interface ApprovalBinding {
  readonly policyVersion: number;
  /** Of the sealed result, in hex; null where nothing was sealed yet. */
  readonly resultSha256: string | null;
  readonly operations: readonly ProposedOperation[];
}

export interface ApprovalRequest extends ApprovalBinding {
  readonly id: ApprovalId;
  readonly subject: ApprovalSubject;
  /** Whose signal made the run; null: nobody's. */
  readonly requester: string | null;
  /** The requester's own consent does not count. */
  readonly fourEyes: boolean;
  readonly requestedAt: Date;
  readonly expiresAt: Date;
  /** Null: nobody has said anything yet. */
  readonly outcome: ApprovalOutcome | null;
  readonly decidedAt: Date | null;
  readonly decidedBy: string | null;
  readonly reason: string | null;
}

export const WORDS = ['publish', 'discard', 'approve', 'decline'] as const;
export type Word = (typeof WORDS)[number];

export interface WordMeaning {
  readonly subject: ApprovalSubject;
  readonly outcome: 'approved' | 'declined';
  /** From WAITING_APPROVAL; the last one is where the run rests. */
  readonly steps: readonly RunStatus[];
  readonly reasonCode: ReasonCode;
}

export const WORD_MEANINGS: Readonly<Record<Word, WordMeaning>> = {
  publish: { subject: 'proposal', outcome: 'approved', steps: ['QUEUED'], reasonCode: 'APPROVED' },
  discard: {
    subject: 'proposal',
    outcome: 'declined',
    steps: ['CANCEL_REQUESTED', 'CANCELLING', 'CANCELLED'],
    reasonCode: 'PROPOSAL_DISCARDED',
  },
  approve: { subject: 'admission', outcome: 'approved', steps: ['QUEUED'], reasonCode: 'APPROVED' },
  decline: {
    subject: 'admission',
    outcome: 'declined',
    steps: ['POLICY_DENIED'],
    reasonCode: 'APPROVAL_DECLINED',
  },
};

export interface SpokenWord {
  readonly word: Word;
  /** As records name them: `token:ci`. */
  readonly actor: string;
  readonly status: RunStatus;
  /** The request that is spoken of: the named one, else the run's newest; null: there is none. */
  readonly request: ApprovalRequest | null;
  /** Database time. */
  readonly nowMs: number;
}

export type WordRefusal = 'WRONG_STATE' | 'APPROVAL_EXPIRED' | 'FOUR_EYES';

export type WordAnswer =
  | { readonly kind: 'taken'; readonly request: ApprovalRequest; readonly meaning: WordMeaning }
  /** The same was said of this request before: the same answer. */
  | { readonly kind: 'already' }
  | { readonly kind: 'refused'; readonly code: WordRefusal; readonly detail: string };

const refused = (code: WordRefusal, detail: string): WordAnswer => ({ kind: 'refused', code, detail });

export function answerWord({ word, actor, status, request, nowMs }: SpokenWord): WordAnswer {
  const meaning = WORD_MEANINGS[word];
  if (request === null) {
    return refused('WRONG_STATE', `It is ${status}, and no person was asked about it.`);
  }
  if (request.subject !== meaning.subject) return refused('WRONG_STATE', otherWords(request.subject));
  if (request.outcome === meaning.outcome) return { kind: 'already' };
  if (request.outcome !== null) return refusedSince(request, request.outcome);
  if (status !== 'WAITING_APPROVAL') {
    return refused('WRONG_STATE', `It is ${status}, and waits for nobody any more.`);
  }
  if (request.expiresAt.getTime() <= nowMs) return expired(request);
  if (meaning.outcome === 'approved' && request.fourEyes && request.requester === actor) {
    return refused(
      'FOUR_EYES',
      `${actor} asked for this work, and the policy wants a second person: another approver has to say it.`,
    );
  }
  return { kind: 'taken', request, meaning };
}

const otherWords = (subject: ApprovalSubject): string =>
  subject === 'proposal'
    ? 'Its result is sealed and waits to be published: publish or discard it.'
    : 'Nothing was done for it yet: approve or decline it.';

const expired = (request: ApprovalRequest): WordAnswer =>
  refused(
    'APPROVAL_EXPIRED',
    `The request ended at ${request.expiresAt.toISOString()}. Retry the run to be asked again.`,
  );

function refusedSince(request: ApprovalRequest, outcome: ApprovalOutcome): WordAnswer {
  switch (outcome) {
    case 'expired':
      return expired(request);
    case 'withdrawn':
      return refused('WRONG_STATE', 'The run ended before anybody decided; there is nothing left to decide.');
    case 'approved':
    case 'declined':
      return refused('WRONG_STATE', `${request.decidedBy ?? 'Somebody'} has ${outcome} it already.`);
  }
}

/** Whether this work is of a kind that nobody may start before a person agreed. */
export const needsConsent = (tenant: TenantPolicy, risk: Risk): boolean =>
  tenant.requireApprovalFor.includes(risk);

/** Whether who asked for the work may not agree to it: where agreement is demanded at all, and where the tenant says so. */
export function needsSecondPerson(
  { tenant: id, risk }: { readonly tenant: string; readonly risk: Risk },
  policy: Pick<Policy, 'tenants'>,
): boolean {
  const tenant = policy.tenants.find((one) => one.id === id);
  return tenant !== undefined && (tenant.fourEyes || needsConsent(tenant, risk));
}

/** What has changed since the word was given, as a sentence; null: it still is for exactly this. */
export function whyNotCovered(approved: ApprovalBinding, now: ApprovalBinding): string | null {
  if (approved.resultSha256 !== now.resultSha256) return 'The sealed result is another than was approved.';
  if (approved.policyVersion !== now.policyVersion) {
    return `The policy has changed since (version ${approved.policyVersion} was approved under, ${now.policyVersion} is in force).`;
  }
  if (!isSameOperations(approved.operations, now.operations)) {
    return 'What would be done is not what was approved: its branch has moved, or is another.';
  }
  return null;
}

const isSameOperations = (a: readonly ProposedOperation[], b: readonly ProposedOperation[]): boolean =>
  a.length === b.length &&
  a.every((one, at) => {
    const other = b[at];
    return (
      other !== undefined &&
      one.kind === other.kind &&
      one.repository === other.repository &&
      one.ref === other.ref &&
      one.commitSha === other.commitSha &&
      one.expectedOldSha === other.expectedOldSha
    );
  });
