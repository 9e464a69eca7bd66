import { describe, expect, it } from 'vitest';
import {
  type AdmissionWrite,
  type Candidate,
  type Decision,
  decideBatch,
  decideOne,
  deliveryKey,
  type OnNewVersion,
  type RunStatus,
} from '../src/index.js';
import {
  aCandidate,
  aLiveRun,
  aRoute,
  aState,
  aTask,
  aTaskRunning,
  aTenant,
  minute,
  NOW,
  receiptIdOf,
  runIdOf,
  TASK_ID,
} from './builders.js';

const writesOf = <K extends AdmissionWrite['kind']>(decision: Decision, kind: K) =>
  decision.writes.filter((write): write is Extract<AdmissionWrite, { kind: K }> => write.kind === kind);

const ended = (version: string, outcome: RunStatus, generation = 1) =>
  new Map([[version, { runId: runIdOf(version), generation, outcome }]]);

describe('new work', () => {
  it('I9: work that nobody asked for before is admitted, born QUEUED, and becomes the latest version', () => {
    const candidate = aCandidate({ version: 'v1', at: minute(1) });
    const decision = decideOne(aState(), candidate);
    expect(decision).toMatchObject({
      outcome: 'accept',
      reasonCode: 'ADMITTED',
      runId: candidate.runId,
      taskId: TASK_ID,
      generation: 1,
      existing: false,
    });
    expect(writesOf(decision, 'admit')).toMatchObject([{ status: 'QUEUED', generation: 1, publication: 1 }]);
    expect(writesOf(decision, 'latest')).toMatchObject([{ inputVersion: 'v1', sourceAt: minute(1) }]);
    expect(writesOf(decision, 'attach')).toMatchObject([{ runId: candidate.runId }]);
  });

  it('Q28: a verdict APPROVAL_REQUIRED admits the work, and its run waits for a person', () => {
    const verdict = {
      outcome: 'accept',
      reasonCode: 'APPROVAL_REQUIRED',
      detail: null,
      retryAfter: null,
    } as const;
    const decision = decideOne(aState(), aCandidate({ verdict }));
    expect(decision).toMatchObject({ outcome: 'accept', reasonCode: 'APPROVAL_REQUIRED', existing: false });
    expect(writesOf(decision, 'admit')).toMatchObject([{ status: 'WAITING_APPROVAL' }]);
  });

  it('a suspended tenant gets TENANT_SUSPENDED and no run', () => {
    const decision = decideOne(aState(), aCandidate({ tenant: aTenant({ suspended: true }) }));
    expect(decision).toMatchObject({ outcome: 'reject', reasonCode: 'TENANT_SUSPENDED', runId: null });
    expect(writesOf(decision, 'admit')).toEqual([]);
  });

  it.each([
    ['empty', ''],
    ['2 049 bytes long', 'x'.repeat(2049)],
    ['one with a NUL', 'a\u0000b'],
  ])('a work key that is %s is refused with TASK_CONTRACT_INVALID', (_what, workKey) => {
    expect(decideOne(aState(), aCandidate({ workKey }))).toMatchObject({
      outcome: 'reject',
      reasonCode: 'TASK_CONTRACT_INVALID',
      runId: null,
    });
  });

  it('a signal without a route or without work gets a receipt that says so', () => {
    expect(decideOne(aState(), aCandidate({ route: null })).reasonCode).toBe('NO_ROUTE');
    expect(decideOne(aState(), aCandidate({ work: null })).reasonCode).toBe('TASK_CONTRACT_INVALID');
  });

  it('a task that was not loaded is a fault, never an admission', () => {
    expect(() => decideOne(aState(), aCandidate({ workKey: 'other' }))).toThrow(/not loaded/);
  });
});

describe('delivery identity', () => {
  const first = aCandidate({ name: 'a' });

  it('I4: the same delivery again is DUPLICATE_DELIVERY and names the run of its first receipt', () => {
    const seen = { receiptId: receiptIdOf('old'), runId: runIdOf('old'), taskId: TASK_ID };
    const state = aState({ deliveries: new Map([[deliveryKey(first.signal), seen]]) });
    const decision = decideOne(state, first);
    expect(decision).toMatchObject({
      outcome: 'reject',
      reasonCode: 'DUPLICATE_DELIVERY',
      runId: runIdOf('old'),
      existing: true,
    });
    expect(decision.writes).toEqual([
      { kind: 'attach', taskId: TASK_ID, receiptId: first.receiptId, runId: runIdOf('old') },
    ]);
  });

  it('I4: the same delivery twice in one batch is admitted once', () => {
    const again = { ...first, receiptId: receiptIdOf('b'), runId: runIdOf('b') };
    const [one, two] = decideBatch(aState(), [first, again]);
    expect(one).toMatchObject({ reasonCode: 'ADMITTED', runId: first.runId });
    expect(two).toMatchObject({ reasonCode: 'DUPLICATE_DELIVERY', runId: first.runId, existing: true });
  });

  it('a repeated ping is a duplicate as well', () => {
    const verdict = { outcome: 'no-work', reasonCode: 'PING', detail: null, retryAfter: null } as const;
    const ping = aCandidate({ verdict, work: null, route: null });
    const decisions = decideBatch(aState(), [ping, { ...ping, receiptId: receiptIdOf('b') }]);
    expect(decisions.map(({ outcome, reasonCode, existing }) => [outcome, reasonCode, existing])).toEqual([
      ['no-work', 'PING', false],
      ['reject', 'DUPLICATE_DELIVERY', true],
    ]);
  });

  it('a promoted signal is not its own duplicate', () => {
    const state = aState({
      deliveries: new Map([
        [deliveryKey(first.signal), { receiptId: first.receiptId, runId: null, taskId: TASK_ID }],
      ]),
    });
    const promoted = { ...first, receiptId: receiptIdOf('b'), parentReceiptId: first.receiptId };
    expect(decideOne(state, promoted).reasonCode).toBe('ADMITTED');
  });
});

describe('verdicts', () => {
  it('a rejecting verdict is the decision; its detail completes the sentence', () => {
    const verdict = {
      outcome: 'reject',
      reasonCode: 'NOT_ELIGIBLE',
      detail: 'Route "fix": "x" is false.',
      retryAfter: null,
    } as const;
    const decision = decideOne(aState(), aCandidate({ verdict, work: null }));
    expect(decision).toMatchObject({
      outcome: 'reject',
      reasonCode: 'NOT_ELIGIBLE',
      rule: 'route.when',
      message: 'The route\'s condition is not met. Route "fix": "x" is false.',
      writes: [],
    });
  });

  it('I9: a deferring verdict keeps the signal until it is due', () => {
    const due = new Date(NOW.getTime() + 5_000);
    const verdict = { outcome: 'defer', reasonCode: 'DEBOUNCED', detail: null, retryAfter: due } as const;
    const decision = decideOne(aState(), aCandidate({ verdict }));
    expect(decision.retryAfter).toEqual(due);
    expect(writesOf(decision, 'defer')).toMatchObject([{ dueAt: due, reasonCode: 'DEBOUNCED' }]);
    const untimed = decideOne(aState(), aCandidate({ verdict: { ...verdict, retryAfter: null } }));
    expect(untimed.retryAfter).toEqual(new Date(NOW.getTime() + 60_000));
  });
});

describe('known versions', () => {
  it('I8: a version with a live run is DUPLICATE_WORK and names that run', () => {
    const state = aState({ task: aTaskRunning(aLiveRun('v1')) });
    expect(decideOne(state, aCandidate({ version: 'v1' }))).toMatchObject({
      outcome: 'reject',
      reasonCode: 'DUPLICATE_WORK',
      runId: runIdOf('v1'),
      existing: true,
    });
  });

  it.each(['SUCCEEDED', 'FAILED', 'CANCELLED', 'SUPERSEDED', 'EXPIRED'] as const)(
    'I8: a version that ended %s stays taken',
    (outcome) => {
      const state = aState({ task: aTask({ versions: ended('v1', outcome) }) });
      expect(decideOne(state, aCandidate({ version: 'v1' })).reasonCode).toBe('DUPLICATE_WORK');
    },
  );

  it.each(['NO_WORK', 'POLICY_DENIED'] as const)(
    'I8: a version that ended %s is admitted again, in the next generation',
    (outcome) => {
      const state = aState({ task: aTask({ generation: 3, versions: ended('v1', outcome, 2) }) });
      const decision = decideOne(state, aCandidate({ version: 'v1' }));
      expect(decision).toMatchObject({ reasonCode: 'ADMITTED', generation: 4, existing: false });
      expect(writesOf(decision, 'task')).toMatchObject([{ generation: 4, cancelled: false }]);
    },
  );

  it('I10: a scan that sees a freed version once more does not admit it', () => {
    const state = aState({ task: aTask({ versions: ended('v1', 'NO_WORK') }) });
    const scanned = aCandidate({ version: 'v1', signal: { via: 'scan' } });
    expect(decideOne(state, scanned)).toMatchObject({ reasonCode: 'DUPLICATE_WORK', runId: runIdOf('v1') });
  });
});

describe('another version under way', () => {
  const running = (policy: OnNewVersion, status: RunStatus = 'RUNNING') => ({
    state: aState({ task: aTaskRunning(aLiveRun('v1', { sourceAt: minute(1), status })) }),
    candidate: aCandidate({
      name: 'b',
      version: 'v2',
      at: minute(2),
      route: aRoute({ onNewVersion: policy }),
    }),
  });

  it('reject: WORK_IN_PROGRESS, naming the live run', () => {
    const { state, candidate } = running('reject');
    expect(decideOne(state, candidate)).toMatchObject({
      outcome: 'reject',
      reasonCode: 'WORK_IN_PROGRESS',
      runId: runIdOf('v1'),
      existing: true,
      rule: 'onNewVersion.reject',
    });
  });

  it('useExisting: EXISTING_RUN, accepted, attached to the live run', () => {
    const { state, candidate } = running('useExisting');
    const decision = decideOne(state, candidate);
    expect(decision).toMatchObject({
      outcome: 'accept',
      reasonCode: 'EXISTING_RUN',
      runId: runIdOf('v1'),
      existing: true,
    });
    expect(writesOf(decision, 'attach')).toMatchObject([{ runId: runIdOf('v1') }]);
  });

  it('queueOne: QUEUED_NEXT and a latch, no run yet', () => {
    const { state, candidate } = running('queueOne');
    const decision = decideOne(state, candidate);
    expect(decision).toMatchObject({
      outcome: 'accept',
      reasonCode: 'QUEUED_NEXT',
      runId: null,
      existing: false,
    });
    expect(writesOf(decision, 'latch')).toMatchObject([
      { latch: { inputVersion: 'v2', receiptId: candidate.receiptId, sourceAt: minute(2) } },
    ]);
  });

  it('cancelOther: the older run is superseded and the new version admitted', () => {
    const { state, candidate } = running('cancelOther');
    const decision = decideOne(state, candidate);
    expect(decision.reasonCode).toBe('ADMITTED');
    expect(writesOf(decision, 'supersede')).toEqual([
      { kind: 'supersede', runId: runIdOf('v1'), taskId: TASK_ID, by: candidate.runId },
    ]);
  });

  it('cancelOther: a run in FINALIZING is left to finish', () => {
    const { state, candidate } = running('cancelOther', 'FINALIZING');
    const decision = decideOne(state, candidate);
    expect(decision.reasonCode).toBe('ADMITTED');
    expect(writesOf(decision, 'supersede')).toEqual([]);
  });

  it('allow: both run', () => {
    const { state, candidate } = running('allow');
    const decision = decideOne(state, candidate);
    expect(decision.reasonCode).toBe('ADMITTED');
    expect(writesOf(decision, 'supersede')).toEqual([]);
  });

  it.each(['reject', 'useExisting', 'queueOne', 'cancelOther', 'allow'] as const)(
    '%s: a run that is being cancelled blocks nothing and swallows nothing',
    (policy) => {
      const { state, candidate } = running(policy, 'CANCELLING');
      expect(decideOne(state, candidate)).toMatchObject({ reasonCode: 'ADMITTED', runId: candidate.runId });
    },
  );

  it('cancelOther: where the order is unknown both are admitted and nothing is cancelled', () => {
    const state = aState({ task: aTaskRunning(aLiveRun('v1')) });
    const decision = decideOne(state, aCandidate({ name: 'b', version: 'v2' }));
    expect(decision.reasonCode).toBe('ADMITTED');
    expect(writesOf(decision, 'supersede')).toEqual([]);
  });

  it('a late older version is SUPERSEDED: no run, nothing cancelled', () => {
    const state = aState({ task: aTaskRunning(aLiveRun('v2', { sourceAt: minute(2) })) });
    const decision = decideOne(state, aCandidate({ version: 'v1', at: minute(1) }));
    expect(decision).toMatchObject({ outcome: 'reject', reasonCode: 'SUPERSEDED', runId: null });
    expect(decision.writes.map((write) => write.kind)).toEqual(['attach']);
    expect(decision.message).toContain('"v2"');
  });

  it('the parent chain decides before time: a rebased head with an older date still wins', () => {
    const state = aState({ task: aTaskRunning(aLiveRun('v1', { sourceAt: minute(9) })) });
    const decision = decideOne(
      state,
      aCandidate({ name: 'b', version: 'v2', at: minute(1), parents: ['v1'] }),
    );
    expect(decision.reasonCode).toBe('ADMITTED');
    expect(writesOf(decision, 'supersede')).toMatchObject([{ runId: runIdOf('v1') }]);
  });

  it('a version older than the latest is refused although nothing runs any more', () => {
    const task = aTask({
      latest: { inputVersion: 'v2', sourceAt: minute(2), parentVersions: [] },
      versions: ended('v2', 'SUCCEEDED'),
    });
    expect(decideOne(aState({ task }), aCandidate({ version: 'v1', at: minute(1) })).reasonCode).toBe(
      'SUPERSEDED',
    );
  });
});

describe('the latch of queueOne', () => {
  const route = aRoute({ onNewVersion: 'queueOne' });
  const versionAt = (n: number, name = `v${n}`): Candidate =>
    aCandidate({ name, version: `v${n}`, at: minute(n), route });
  const state = () => aState({ task: aTaskRunning(aLiveRun('v1', { sourceAt: minute(1) })) });
  const codes = (decisions: readonly Decision[]) => decisions.map((decision) => decision.reasonCode);

  it('the newest by source order wins it, whatever the order of arrival', () => {
    expect(codes(decideBatch(state(), [versionAt(2), versionAt(3)]))).toEqual(['QUEUED_NEXT', 'QUEUED_NEXT']);
    expect(codes(decideBatch(state(), [versionAt(3), versionAt(2)]))).toEqual(['QUEUED_NEXT', 'SUPERSEDED']);
  });

  it('the latched version again is QUEUED_NEXT and changes nothing', () => {
    const [, again] = decideBatch(state(), [versionAt(2), versionAt(2, 'again')]);
    expect(again?.reasonCode).toBe('QUEUED_NEXT');
    expect(again?.writes.map((write) => write.kind)).toEqual(['attach']);
  });

  it('I4: a version whose order to the latched one is unknown is admitted, not swallowed', () => {
    const latch = { inputVersion: 'v2', receiptId: receiptIdOf('l'), sourceAt: null, parentVersions: [] };
    const task = { ...aTaskRunning(aLiveRun('v1')), latch };
    const decision = decideOne(aState({ task }), aCandidate({ name: 'b', version: 'v3', route }));
    expect(decision.reasonCode).toBe('ADMITTED');
    expect(writesOf(decision, 'latch')).toEqual([]);
  });

  it('a promoted latch is admitted and the latch cleared in the same decision', () => {
    const latch = {
      inputVersion: 'v2',
      receiptId: receiptIdOf('l'),
      sourceAt: minute(2),
      parentVersions: [],
    };
    const task = aTask({
      latch,
      latest: { inputVersion: 'v1', sourceAt: minute(1), parentVersions: [] },
      versions: ended('v1', 'CANCELLED'),
    });
    const promoted = { ...versionAt(2), parentReceiptId: latch.receiptId };
    const decision = decideOne(aState({ task }), promoted);
    expect(decision.reasonCode).toBe('ADMITTED');
    expect(writesOf(decision, 'latch')).toMatchObject([{ latch: null }]);
  });
});

describe('cancelled tasks and people', () => {
  const cancelled = aTask({ cancelled: true, versions: ended('v1', 'CANCELLED') });
  const person = (kind: 'retry' | 'reset', cancelLive = false, version = 'v1') =>
    aCandidate({ name: 'p', version, directive: { kind, cancelLive } });

  it('signals of a cancelled task get TASK_CANCELLED', () => {
    for (const version of ['v1', 'v2']) {
      expect(decideOne(aState({ task: cancelled }), aCandidate({ version }))).toMatchObject({
        outcome: 'reject',
        reasonCode: 'TASK_CANCELLED',
      });
    }
  });

  it.each(['retry', 'reset'] as const)('a %s by a person lifts the cancellation', (kind) => {
    const decision = decideOne(aState({ task: cancelled }), person(kind));
    expect(decision).toMatchObject({ reasonCode: 'ADMITTED', generation: 2 });
    expect(writesOf(decision, 'task')).toEqual([
      {
        kind: 'task',
        taskId: TASK_ID,
        generation: 2,
        publication: kind === 'reset' ? 2 : 1,
        cancelled: false,
      },
    ]);
  });

  it('a retry while a run lives is WORK_IN_PROGRESS and names it', () => {
    const state = aState({ task: aTaskRunning(aLiveRun('v1')) });
    const decision = decideOne(state, person('retry'));
    expect(decision).toMatchObject({
      reasonCode: 'WORK_IN_PROGRESS',
      runId: runIdOf('v1'),
      existing: true,
    });
    expect(writesOf(decision, 'cancel')).toEqual([]);
  });

  it('cancelLive: every live run is cancelled before the new one is made', () => {
    const task = aTaskRunning(aLiveRun('v1'), aLiveRun('v0', { status: 'CANCEL_REQUESTED' }));
    const decision = decideOne(aState({ task }), person('retry', true));
    expect(decision).toMatchObject({ reasonCode: 'ADMITTED', generation: 2 });
    const kinds = decision.writes.map((write) => write.kind);
    expect(kinds.indexOf('cancel')).toBeLessThan(kinds.indexOf('admit'));
    expect(writesOf(decision, 'cancel')).toEqual([
      { kind: 'cancel', runId: runIdOf('v1'), taskId: TASK_ID, reasonCode: 'CANCELLED_BY_USER' },
    ]);
  });

  it('a retry of an older version is SUPERSEDED and cancels nothing; a reset is the way out', () => {
    const task = aTaskRunning(aLiveRun('v2', { sourceAt: minute(2) }));
    const old = (kind: 'retry' | 'reset') =>
      aCandidate({ version: 'v1', at: minute(1), directive: { kind, cancelLive: true } });
    const retry = decideOne(aState({ task }), old('retry'));
    expect(retry.reasonCode).toBe('SUPERSEDED');
    expect(writesOf(retry, 'cancel')).toEqual([]);
    const reset = decideOne(aState({ task }), old('reset'));
    expect(reset.reasonCode).toBe('ADMITTED');
    expect(writesOf(reset, 'latest')).toMatchObject([{ inputVersion: 'v1' }]);
  });

  it('a reset clears the latch, a retry keeps it', () => {
    const latch = { inputVersion: 'v9', receiptId: receiptIdOf('l'), sourceAt: null, parentVersions: [] };
    const task = aTask({ latch, versions: ended('v1', 'FAILED') });
    expect(writesOf(decideOne(aState({ task }), person('reset')), 'latch')).toMatchObject([{ latch: null }]);
    expect(writesOf(decideOne(aState({ task }), person('retry')), 'latch')).toEqual([]);
  });
});

describe('backpressure', () => {
  const tenant = aTenant({ maxQueued: 2 });

  it('I11: a full queue defers with QUEUE_FULL for a minute, and says how full it is', () => {
    const state = aState({ queuedByTenant: new Map([['default', 2]]) });
    const decision = decideOne(state, aCandidate({ tenant }));
    expect(decision).toMatchObject({
      outcome: 'defer',
      reasonCode: 'QUEUE_FULL',
      retryAfter: new Date(NOW.getTime() + 60_000),
    });
    expect(decision.message).toContain('2 of 2');
    expect(writesOf(decision, 'defer')).toHaveLength(1);
    expect(writesOf(decision, 'admit')).toEqual([]);
  });

  it('I11: runs admitted earlier in the batch count', () => {
    const keys = ['k1', 'k2', 'k3'];
    const tasks = new Map(keys.map((key) => [`default\u0000${key}`, aTask()]));
    const decisions = decideBatch(
      aState({ tasks }),
      keys.map((workKey) => aCandidate({ name: workKey, workKey, tenant })),
    );
    expect(decisions.map((decision) => decision.reasonCode)).toEqual(['ADMITTED', 'ADMITTED', 'QUEUE_FULL']);
  });

  it('a newer version takes the place of the waiting run that it supersedes, also in a full queue', () => {
    const task = aTaskRunning(aLiveRun('v1', { sourceAt: minute(1), status: 'QUEUED' }));
    const state = aState({ task, queuedByTenant: new Map([['default', 2]]) });
    const decision = decideOne(state, aCandidate({ name: 'b', version: 'v2', at: minute(2), tenant }));
    expect(decision.reasonCode).toBe('ADMITTED');
  });

  it('a retry that meets a full queue cancels nothing', () => {
    const task = aTaskRunning(aLiveRun('v1'));
    const state = aState({ task, queuedByTenant: new Map([['default', 2]]) });
    const candidate = aCandidate({ tenant, directive: { kind: 'retry', cancelLive: true } });
    const decision = decideOne(state, candidate);
    expect(decision.reasonCode).toBe('QUEUE_FULL');
    expect(writesOf(decision, 'cancel')).toEqual([]);
  });

  it('duplicates are answered although the queue is full', () => {
    const state = aState({
      task: aTaskRunning(aLiveRun('v1')),
      queuedByTenant: new Map([['default', 2]]),
    });
    expect(decideOne(state, aCandidate({ tenant, version: 'v1' })).reasonCode).toBe('DUPLICATE_WORK');
  });
});

it('I17: every decision names its rule and keeps the trigger on its task', () => {
  const state = aState({ task: aTaskRunning(aLiveRun('v1', { sourceAt: minute(5) })) });
  for (const version of ['v1', 'v2']) {
    for (const at of [null, minute(1), minute(9)]) {
      const decision = decideOne(state, aCandidate({ name: 'b', version, at }));
      expect(decision.rule).not.toBe('');
      expect(writesOf(decision, 'attach')).toHaveLength(1);
      expect(decision.taskId).toBe(TASK_ID);
    }
  }
});
