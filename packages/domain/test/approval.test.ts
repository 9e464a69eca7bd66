import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  APPROVAL_OUTCOMES,
  type ApprovalId,
  type ApprovalRequest,
  answerWord,
  isLegal,
  needsSecondPerson,
  type ProposedOperation,
  RUN_STATUSES,
  type SpokenWord,
  WORD_MEANINGS,
  WORDS,
  whyNotCovered,
} from '../src/index.js';
import { aTenant } from './builders.js';

const ASKED_MS = Date.UTC(2026, 0, 31);

const aPush = (change: Partial<ProposedOperation> = {}): ProposedOperation => ({
  kind: 'push',
  repository: 'acme/api',
  ref: 'refs/heads/agent/x',
  commitSha: 'c'.repeat(40),
  expectedOldSha: null,
  ...change,
});

const aRequest = (change: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  id: 'request' as ApprovalId,
  subject: 'proposal',
  policyVersion: 3,
  resultSha256: 'f'.repeat(64),
  operations: [aPush()],
  requester: 'token:ci',
  fourEyes: false,
  requestedAt: new Date(ASKED_MS),
  expiresAt: new Date(ASKED_MS + 1_000),
  outcome: null,
  decidedAt: null,
  decidedBy: null,
  reason: null,
  ...change,
});

const say = (change: Partial<SpokenWord> = {}) =>
  answerWord({
    word: 'publish',
    actor: 'token:mona',
    status: 'WAITING_APPROVAL',
    request: aRequest(),
    nowMs: ASKED_MS,
    ...change,
  });

describe('a word on a run that waits for a person', () => {
  it('leads along legal steps only, whatever was said', () => {
    for (const word of WORDS) {
      let from: (typeof RUN_STATUSES)[number] = 'WAITING_APPROVAL';
      for (const to of WORD_MEANINGS[word].steps) {
        expect(isLegal(from, to), `${word}: ${from} to ${to}`).toBe(true);
        from = to;
      }
    }
  });

  it('is taken once: the same word again is the same answer, the other one is told who was first', () => {
    expect(say()).toMatchObject({ kind: 'taken', meaning: { outcome: 'approved' } });
    const approved = aRequest({ outcome: 'approved', decidedBy: 'token:mona' });
    expect(say({ request: approved, status: 'SUCCEEDED' })).toEqual({ kind: 'already' });
    expect(say({ word: 'discard', request: approved, status: 'QUEUED' })).toEqual({
      kind: 'refused',
      code: 'WRONG_STATE',
      detail: 'token:mona has approved it already.',
    });
  });

  it('is refused from the moment on at which the request ends, although nobody has ended it yet', () => {
    expect(say({ nowMs: ASKED_MS + 999 }).kind).toBe('taken');
    expect(say({ nowMs: ASKED_MS + 1_000 })).toMatchObject({ code: 'APPROVAL_EXPIRED' });
    expect(say({ request: aRequest({ outcome: 'expired' }), status: 'EXPIRED' })).toMatchObject({
      code: 'APPROVAL_EXPIRED',
      detail: expect.stringContaining('Retry the run'),
    });
  });

  it('four eyes: the requester may decline what they asked for, and not agree to it', () => {
    const request = aRequest({ fourEyes: true });
    expect(say({ request, actor: 'token:ci' })).toMatchObject({ code: 'FOUR_EYES' });
    expect(say({ request, actor: 'token:ci', word: 'discard' }).kind).toBe('taken');
    expect(say({ request }).kind).toBe('taken');
    // Nobody asked for it: nobody is the first pair of eyes.
    expect(say({ request: aRequest({ fourEyes: true, requester: null }) }).kind).toBe('taken');
  });

  it('names the words that fit where the ones said do not', () => {
    expect(say({ word: 'approve' })).toMatchObject({ detail: expect.stringContaining('publish or discard') });
    const admission = aRequest({ subject: 'admission' });
    expect(say({ request: admission })).toMatchObject({
      detail: expect.stringContaining('approve or decline'),
    });
    expect(say({ request: null })).toMatchObject({ code: 'WRONG_STATE' });
  });

  it('is taken only where a run waits, has an open request of that kind, and time is left', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...WORDS),
        fc.constantFrom(...RUN_STATUSES),
        fc.constantFrom(null, ...APPROVAL_OUTCOMES),
        fc.constantFrom('admission', 'proposal'),
        fc.integer({ min: -2_000, max: 2_000 }),
        (word, status, outcome, subject, sinceMs) => {
          const request = aRequest({ subject, outcome });
          const answer = say({ word, status, request, nowMs: ASKED_MS + sinceMs });
          const may =
            status === 'WAITING_APPROVAL' &&
            outcome === null &&
            subject === WORD_MEANINGS[word].subject &&
            sinceMs < 1_000;
          expect(answer.kind === 'taken').toBe(may);
        },
      ),
    );
  });
});

describe('what a word covers', () => {
  const approved = aRequest();

  it('is exactly what was asked', () => {
    expect(whyNotCovered(approved, approved)).toBeNull();
  });

  it.each([
    ['another result', { resultSha256: '0'.repeat(64) }, 'sealed result'],
    ['another policy', { policyVersion: 4 }, 'version 3 was approved under, 4 is in force'],
    ['another branch', { operations: [aPush({ ref: 'refs/heads/main' })] }, 'branch'],
    ['another commit', { operations: [aPush({ commitSha: 'd'.repeat(40) })] }, 'branch'],
    ['a branch that has moved', { operations: [aPush({ expectedOldSha: 'e'.repeat(40) })] }, 'branch'],
    ['another repository', { operations: [aPush({ repository: 'acme/other' })] }, 'branch'],
    ['one operation more', { operations: [aPush(), aPush()] }, 'branch'],
    ['nothing to do', { operations: [] }, 'branch'],
  ])('is not %s', (_what, change, words) => {
    expect(whyNotCovered(approved, { ...approved, ...change })).toContain(words);
  });
});

it('Q28: a second person is needed where a risk class demands consent, or the tenant says so', () => {
  const policyWith = (change: Parameters<typeof aTenant>[0]) => ({ tenants: [aTenant(change)] });
  const work = { tenant: 'default', risk: 'HIGH' } as const;
  expect(needsSecondPerson(work, policyWith({}))).toBe(false);
  expect(needsSecondPerson(work, policyWith({ requireApprovalFor: ['HIGH'] }))).toBe(true);
  expect(needsSecondPerson(work, policyWith({ requireApprovalFor: ['CRITICAL'] }))).toBe(false);
  expect(needsSecondPerson(work, policyWith({ fourEyes: true }))).toBe(true);
});
