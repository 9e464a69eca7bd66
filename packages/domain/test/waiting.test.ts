import { describe, expect, it } from 'vitest';
import {
  approvalReason,
  countHeld,
  NOTHING_HELD,
  type QueueCandidate,
  type SelectionLimits,
  type Waiting,
  waitingReason,
} from '../src/index.js';
import { runIdOf } from './builders.js';

const candidate: QueueCandidate = {
  runId: runIdOf('a'),
  tenant: 1,
  queue: 1,
  rankAt: 0,
  repository: 7,
  user: 8,
  risk: 1,
  provider: 2,
  agent: 3,
  concurrencyKey: 'aa',
  concurrencyLimit: 2,
  taskKey: 'tt',
};
const other = (change: Partial<QueueCandidate>): QueueCandidate => ({
  ...candidate,
  repository: null,
  user: null,
  risk: null,
  provider: null,
  concurrencyKey: null,
  taskKey: null,
  tenant: 9,
  ...change,
});
const LIMITS: SelectionLimits = {
  maxActive: 10,
  perTenant: new Map([[1, 2]]),
  perRepository: 1,
  perUser: 1,
  perRisk: new Map([[1, 1]]),
  perProvider: new Map([[2, 1]]),
};
const capacity = new Map([[1, { liveWorkers: 2, freeSlots: 1 }]]);
const ready = (ahead: number): Waiting => ({ kind: 'ready', ahead });
const reason = (waiting: Waiting, change: Partial<Parameters<typeof waitingReason>[2]> = {}) =>
  waitingReason(candidate, waiting, { held: NOTHING_HELD, limits: LIMITS, capacity, now: 1_000, ...change });

it.each([
  ['REPOSITORY_AT_LIMIT', { repository: 7 }, '1 active run of the repository ends.'],
  ['USER_AT_LIMIT', { user: 8 }, '1 active run of the user ends.'],
  ['PROVIDER_AT_LIMIT', { provider: 2 }, '1 active run of the provider ends.'],
  ['RISK_AT_LIMIT', { risk: 1 }, '1 active run of its risk class ends.'],
  ['CONCURRENCY_KEY_BUSY', { tenant: 1, taskKey: 'tt' }, '1 active run with the same key ends.'],
] as const)('I17: %s says its numbers and what would let the run start', (code, held, starts) => {
  const result = reason(ready(3), { held: countHeld([other(held)]) });
  expect(result).toMatchObject({
    reasonCode: code,
    numbers: { held: 1, limit: 1, ahead: 3 },
    wouldStartWhen: starts,
    untilMs: null,
  });
  expect(result.message).toContain('(1 of 1, ahead 3)');
});

it('I17: over a lowered limit it says how many runs must end', () => {
  const held = countHeld([1, 2, 3, 4].map(() => other({ tenant: 1 })));
  expect(reason(ready(0), { held })).toMatchObject({
    reasonCode: 'TENANT_AT_LIMIT',
    wouldStartWhen: '3 active runs of the tenant end.',
  });
});

it('Q20: without a worker, or without isolation, it says what to start', () => {
  expect(reason(ready(0), { capacity: new Map() }).wouldStartWhen).toBe(
    'A worker that offers what it requires is started.',
  );
  const isolated = new Map([[1, { liveWorkers: 0, freeSlots: 0, without: 'NO_ISOLATION' as const }]]);
  expect(reason(ready(0), { capacity: isolated }).wouldStartWhen).toContain('headgate doctor');
});

it('a run that is only waiting for its turn says so, and how many are ahead', () => {
  expect(reason(ready(0))).toMatchObject({
    reasonCode: 'READY',
    wouldStartWhen: 'The next dispatch takes it.',
  });
  expect(reason(ready(2)).wouldStartWhen).toBe('2 runs ahead of it got a slot.');
  const full = new Map([[1, { liveWorkers: 2, freeSlots: 0 }]]);
  expect(reason(ready(0), { capacity: full }).wouldStartWhen).toBe('A worker of its queue has a free slot.');
});

it('a delayed run names its reason and when it is due', () => {
  const waiting: Waiting = { kind: 'delayed', reasonCode: 'RETRY_BACKOFF', visibleAt: 151_000 };
  expect(reason(waiting)).toMatchObject({
    reasonCode: 'RETRY_BACKOFF',
    numbers: { leftMs: 150_000 },
    wouldStartWhen: '2 min 30 s have passed.',
    untilMs: 151_000,
  });
  const mend = 'To mend it on the worker that looked: apt-get install bubblewrap';
  expect(reason({ ...waiting, reasonCode: 'NO_ISOLATION', detail: mend }).message).toBe(
    `No live worker can isolate this agent. ${mend}.`,
  );
  expect(reason({ ...waiting, visibleAt: 0 }).wouldStartWhen).toContain('It is due');
});

it('a dispatched run waits for a claim', () => {
  expect(reason({ kind: 'dispatched', takenBackAt: 31_000 })).toMatchObject({
    reasonCode: 'READY',
    untilMs: 31_000,
  });
});

describe('a run that waits for a person', () => {
  const expiresAt = Date.UTC(2026, 0, 31);

  it('says who can let it go on, and until when', () => {
    const request = { subject: 'proposal', expiresAt, notBy: null } as const;
    expect(approvalReason(request, null, expiresAt - 5_000)).toEqual({
      reasonCode: 'APPROVAL_REQUIRED',
      message: 'The result is sealed and waits for a person to publish it.',
      numbers: { leftMs: 5_000 },
      wouldStartWhen: 'A person with the role approver or admin publishes it, until 2026-01-31 00:00 UTC.',
      untilMs: expiresAt,
    });
  });

  it('names whose consent does not count, and why it is asked again', () => {
    const request = { subject: 'admission', expiresAt, notBy: 'token:ci' } as const;
    const asked = approvalReason(request, 'The policy has changed since.', expiresAt);
    expect(asked.message).toBe('A person has to agree before it goes on. The policy has changed since.');
    expect(asked.wouldStartWhen).toContain('approves it, but not token:ci, who asked for it, until');
  });

  it('promises no time when nobody knows what was asked', () => {
    expect(approvalReason(null, null, 0)).toMatchObject({ numbers: {}, untilMs: null });
  });
});
