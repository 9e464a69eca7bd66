import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AttemptFact,
  type EventFact,
  explain,
  explainNothing,
  type Facts,
  formatId,
  NO_FACTS,
  type ReceiptFact,
  type RunFact,
  systemIds,
} from '../src/index.js';

const runId = systemIds.next('run');
const taskId = systemIds.next('task');
const receiptId = systemIds.next('rcpt');
const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 13, 50, second));

const aReceipt = (change: Partial<ReceiptFact> = {}): ReceiptFact => ({
  id: receiptId,
  kind: 'decision',
  outcome: 'accept',
  reasonCode: 'ADMITTED',
  message: 'The work was admitted and a run was made.',
  rule: 'new-version',
  route: 'fix-failing-check',
  existing: false,
  at: at(1),
  source: 'acme',
  eventId: '1/7f3c',
  type: 'github.check_run.completed',
  actor: 'user:mona',
  repository: 'acme/api',
  workKey: '42/pr/7/check/unit',
  inputVersion: '9f31c2',
  parentReceiptId: null,
  replayedBy: null,
  taskId,
  runId,
  ...change,
});
const aRun = (change: Partial<RunFact> = {}): RunFact => ({
  id: runId,
  taskId,
  receiptId,
  route: 'fix-failing-check',
  repository: 'acme/api',
  workKey: '42/pr/7/check/unit',
  inputVersion: '9f31c2',
  generation: 1,
  status: 'SUCCEEDED',
  reasonCode: 'SUCCEEDED',
  reasonDetail: null,
  statusAt: at(9),
  branch: 'agent/task_x/run_y',
  costUsd: 0,
  hops: 0,
  chainRuns: 1,
  rootReceiptId: null,
  ...change,
});
const anEvent = (type: string, second: number, change: Partial<EventFact> = {}): EventFact => ({
  id: systemIds.next('evt'),
  at: at(second),
  type,
  from: null,
  to: null,
  reasonCode: null,
  actor: null,
  attemptNo: null,
  fencingToken: null,
  leaseId: null,
  runId,
  taskId,
  data: null,
  ...change,
});
const anAttempt = (change: Partial<AttemptFact> = {}): AttemptFact => ({
  id: systemIds.next('att'),
  runId,
  number: 1,
  workerId: systemIds.next('wkr'),
  status: 'failed',
  reasonCode: 'AGENT_FAILED',
  detail: null,
  finishedAt: at(5),
  costUsd: 0,
  leaseId: systemIds.next('lease'),
  ...change,
});
const story = (facts: Partial<Facts>) =>
  explain({ ref: 'x', kind: 'run', facts: { ...NO_FACTS, ...facts }, waiting: null, isCut: false });

describe('the chain', () => {
  it('I17: puts cause before effect, also where one transaction wrote the effect’s row first', () => {
    const { steps } = story({
      receipts: [
        aReceipt({ at: at(2) }),
        aReceipt({
          id: systemIds.next('rcpt'),
          kind: 'closing',
          reasonCode: 'SUCCEEDED',
          message: '',
          rule: 'run.end',
          at: at(9),
        }),
      ],
      runs: [aRun()],
      events: [anEvent('run.admitted', 1), anEvent('run.claimed', 3), anEvent('run.succeeded', 9)],
      attempts: [anAttempt({ status: 'succeeded', reasonCode: 'SUCCEEDED', finishedAt: at(9) })],
    });
    expect(steps.map((step) => step.type)).toEqual([
      'receipt.decision',
      'run.admitted',
      'run.claimed',
      'attempt.succeeded',
      'run.succeeded',
      'receipt.closing',
    ]);
  });

  it('I17: asked for one delivery or receipt among several, says first what became of that one', () => {
    const refused = aReceipt({
      id: systemIds.next('rcpt'),
      outcome: 'reject',
      reasonCode: 'DUPLICATE_WORK',
      message: 'This version of the work was admitted before.',
      rule: 'work-dedupe',
      existing: true,
      eventId: '1/8a4d',
      at: at(5),
    });
    const receipts = [aReceipt(), refused];
    const summaryFor = (ref: string, facts: Partial<Facts> = { receipts, runs: [aRun()] }) =>
      explain({ ref, kind: 'delivery', facts: { ...NO_FACTS, ...facts }, waiting: null, isCut: false })
        .summary;
    const verdict =
      'It was refused with DUPLICATE_WORK by rule work-dedupe: This version of the work was admitted before.';
    for (const ref of ['8a4d', '1/8a4d', formatId('rcpt', refused.id)]) {
      expect(summaryFor(ref)).toMatch(
        new RegExp(`^${verdict.replaceAll('.', '\\.')} 2 signals led to 1 run`),
      );
    }
    expect(summaryFor('42/pr/7/check/unit')).toMatch(/^2 signals led to 1 run/);
    expect(summaryFor('7f3c', { receipts: [aReceipt()], runs: [aRun()] })).toMatch(/^run_/);
    const again = { ...refused, id: systemIds.next('rcpt'), at: at(6) };
    expect(summaryFor('8a4d', { receipts: [...receipts, again], runs: [aRun()] })).toMatch(
      /^It was decided 2 times, last refused with DUPLICATE_WORK/,
    );
  });

  it('is the same whatever order the rows were read in', () => {
    const receipts = [
      aReceipt(),
      aReceipt({ id: systemIds.next('rcpt'), existing: true, at: at(1), reasonCode: 'DUPLICATE_DELIVERY' }),
    ];
    const events = [1, 1, 2, 3, 3, 3].map((second, n) =>
      anEvent(n === 0 ? 'run.admitted' : `run.step${n}`, second),
    );
    const expected = story({ receipts, events, runs: [aRun()] }).steps;
    fc.assert(
      fc.property(
        fc.shuffledSubarray(events, { minLength: events.length }),
        fc.shuffledSubarray(receipts, { minLength: 2 }),
        (shuffledEvents, shuffledReceipts) => {
          expect(story({ receipts: shuffledReceipts, events: shuffledEvents, runs: [aRun()] }).steps).toEqual(
            expected,
          );
        },
      ),
    );
  });

  it('names a rule only where a receipt names it, and the actor as it stands', () => {
    const { steps } = story({
      receipts: [aReceipt()],
      events: [
        anEvent('run.cancelled', 2, {
          actor: 'token:ci',
          reasonCode: 'CANCELLED_BY_USER',
          data: { reason: 'wrong branch' },
        }),
      ],
      runs: [aRun({ status: 'CANCELLED' })],
    });
    expect(steps[0]).toMatchObject({ rule: 'new-version', actor: 'user:mona' });
    expect(steps[1]).toMatchObject({ rule: null, actor: 'token:ci' });
    expect(steps[1]?.message).toBe(
      'The run was cancelled. A person cancelled it. Given reason: "wrong branch".',
    );
  });

  it('Q4: says which worker took the lease, under which fence', () => {
    const attempt = anAttempt();
    const claimed = anEvent('run.claimed', 3, { leaseId: attempt.leaseId, fencingToken: '17' });
    const { steps } = story({ events: [claimed], attempts: [attempt], runs: [aRun()] });
    expect(steps[0]?.message).toBe(
      `Worker ${formatId('wkr', attempt.workerId)} took the lease (attempt 1, fencing token 17).`,
    );
  });

  it('keeps text from outside inside quotation marks, without control characters', () => {
    const { steps } = story({ attempts: [anAttempt({ detail: `a\u0000"b"\u001b[31m${'x'.repeat(200)}` })] });
    expect(steps[0]?.message).not.toMatch(/\p{Cc}/u);
    expect(steps[0]?.message.length).toBeLessThan(200);
  });

  it('does not fail on events and reasons that it does not know', () => {
    const { steps } = story({
      events: [anEvent('goal.observed_something', 1, { reasonCode: 'NEW_CODE', data: [1] })],
    });
    expect(steps[0]).toMatchObject({ message: 'Goal observed something.', reasonCode: 'NEW_CODE' });
  });
});

describe('the summary', () => {
  it.each<[string, Partial<Facts>, string | RegExp]>([
    [
      'a run that succeeded',
      { receipts: [aReceipt()], runs: [aRun()] },
      /succeeded \(branch agent\/task_x\/run_y\)\.$/,
    ],
    [
      'a run that found nothing to change',
      { receipts: [aReceipt()], runs: [aRun({ reasonCode: 'NO_CHANGE', branch: null })] },
      /succeeded: The agent finished and changed nothing\.$/,
    ],
    [
      'stale input, before any model was called',
      { receipts: [aReceipt()], runs: [aRun({ status: 'NO_WORK', reasonCode: 'STALE_INPUT' })] },
      /did nothing \(NO_WORK, STALE_INPUT\): The input has moved on .* No model was called\.$/,
    ],
    [
      'a failure, with what it cost',
      {
        receipts: [aReceipt()],
        runs: [
          aRun({ status: 'FAILED', reasonCode: 'VERIFIER_FAILED', reasonDetail: 'npm test', costUsd: 1.12 }),
        ],
      },
      /failed with VERIFIER_FAILED: The verification failed\. npm test It cost 1\.12 USD\.$/,
    ],
    [
      'duplicates',
      {
        receipts: [aReceipt(), aReceipt({ id: systemIds.next('rcpt'), outcome: 'reject', existing: true })],
        runs: [aRun()],
      },
      /^2 signals led to 1 run \(1 met a run that was there before\)\./,
    ],
    [
      'a refusal',
      {
        receipts: [
          aReceipt({
            outcome: 'reject',
            reasonCode: 'NOT_ELIGIBLE',
            rule: 'route.when',
            message: 'The condition is not met.',
            runId: null,
            taskId: null,
          }),
        ],
      },
      'One signal, no run: refused with NOT_ELIGIBLE by rule route.when. The condition is not met.',
    ],
    ['a task that nothing happened to', {}, 'Nothing has happened to it yet.'],
    [
      'a run under way',
      { receipts: [aReceipt()], runs: [aRun({ status: 'VERIFYING' })] },
      /is under way \(VERIFYING\)\.$/,
    ],
  ])('tells %s', (_title, facts, expected) => {
    const { summary } = story(facts);
    if (typeof expected === 'string') expect(summary).toBe(expected);
    else expect(summary).toMatch(expected);
  });

  it('says what a waiting run waits for, and what would let it start', () => {
    const facts = {
      ...NO_FACTS,
      receipts: [aReceipt()],
      runs: [aRun({ status: 'QUEUED', reasonCode: 'ADMITTED' })],
    };
    const waiting = {
      runId,
      message: 'The repository is full (2 of 2).',
      wouldStartWhen: '1 active run of the repository ends.',
    };
    const { summary } = explain({ ref: 'x', kind: 'run', facts, waiting, isCut: true });
    expect(summary).toMatch(
      /waits: The repository is full \(2 of 2\)\. It starts when: 1 active run of the repository ends\. Only the newest are shown\.$/,
    );
  });

  it('offers each of several tasks', () => {
    const other = aRun({ id: systemIds.next('run'), taskId: systemIds.next('task'), workKey: 'other' });
    const { candidates } = story({ runs: [aRun(), other] });
    expect(candidates.map((one) => one.id)).toEqual([
      formatId('task', taskId),
      formatId('task', other.taskId),
    ]);
    expect(story({ runs: [aRun()] }).candidates).toEqual([]);
  });
});

describe('nothing known', () => {
  it('says what to check, and what was seen of each source', () => {
    const now = at(50);
    const { kind, summary, candidates } = explainNothing(
      'abc',
      [
        {
          source: 'acme',
          lastAt: at(20),
          lastType: 'github.push',
          lastOutcome: 'accept',
          lastReasonCode: 'ADMITTED',
        },
        { source: 'silent', lastAt: null, lastType: null, lastOutcome: null, lastReasonCode: null },
      ],
      now,
    );
    expect(kind).toBe('none');
    expect(summary).toContain('"abc"');
    expect(candidates.filter((one) => one.kind === 'source')).toEqual([
      {
        kind: 'source',
        id: 'acme',
        label: 'Last delivery 30 s ago (2026-01-01T13:50:20.000Z): github.push, accept with ADMITTED.',
      },
      { kind: 'source', id: 'silent', label: 'Configured; nothing has arrived from it.' },
    ]);
    expect(explainNothing('abc', [], now).summary).toContain('No source has delivered anything yet.');
  });
});

describe('equal receipts', () => {
  const twenty = Array.from({ length: 20 }, (_, n) =>
    aReceipt({
      id: systemIds.next('rcpt'),
      existing: true,
      outcome: 'reject',
      reasonCode: 'DUPLICATE_DELIVERY',
      rule: 'delivery-dedupe',
      at: at(2 + n),
    }),
  );
  const explainedOf = (receipts: readonly ReceiptFact[], events: readonly EventFact[] = []) =>
    explain({
      ref: 'x',
      kind: 'delivery',
      facts: { ...NO_FACTS, receipts, runs: [aRun()], events },
      waiting: null,
      isCut: false,
    });

  it('I17: twenty equal duplicates are one step with a count, in the place of the first', () => {
    const { steps, summary } = explainedOf(
      [aReceipt(), ...twenty],
      [anEvent('run.claimed', 5), anEvent('run.claimed', 8)],
    );
    expect(steps.map(({ type, reasonCode, count }) => [type, reasonCode, count])).toEqual([
      ['receipt.decision', 'ADMITTED', 1],
      ['receipt.decision', 'DUPLICATE_DELIVERY', 20],
      // What happened to the run is never folded.
      ['run.claimed', null, 1],
      ['run.claimed', null, 1],
    ]);
    expect(steps[1]).toMatchObject({ at: at(2), lastAt: at(21), receiptId: twenty[0]?.id });
    expect(summary).toContain('21 signals led to 1 run (20 met a run that was there before).');
  });

  it('I17: a duplicate that differs in what it says stays a step of its own', () => {
    const other = aReceipt({ ...twenty[0], id: systemIds.next('rcpt'), eventId: '1/other', at: at(30) });
    expect(explainedOf([aReceipt(), ...twenty, other]).steps.map((step) => step.count)).toEqual([1, 20, 1]);
  });

  it('I17: looks and ticks that found nothing are one step, whatever each was called; a duplicate is not', () => {
    const nothing = (n: number) =>
      aReceipt({
        id: systemIds.next('rcpt'),
        outcome: 'no-work',
        reasonCode: 'NOTHING_FOUND',
        eventId: `tick-${n}`,
        runId: null,
        at: at(n),
      });
    const { steps } = explainedOf([nothing(1), nothing(2), nothing(3)]);
    expect(steps.filter(({ outcome }) => outcome === 'no-work')).toMatchObject([{ count: 3, lastAt: at(3) }]);
  });

  it('no receipt is lost in folding, whatever the order', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(twenty), (some) => {
        const { steps } = explainedOf([aReceipt(), ...some]);
        expect(steps.reduce((sum, step) => sum + step.count, 0)).toBe(some.length + 1);
        expect(steps.length).toBeLessThanOrEqual(2);
      }),
    );
  });
});

describe('what stands beside the chain', () => {
  it('I17: names the place of a run in a chain of our own, and where it began', () => {
    const root = systemIds.next('rcpt');
    const { summary } = story({
      receipts: [aReceipt()],
      runs: [aRun({ hops: 2, chainRuns: 3, rootReceiptId: root })],
    });
    expect(summary).toContain(
      `2 hops from ${formatId('rcpt', root)}, run 3 of its work since a person acted`,
    );
    expect(story({ receipts: [aReceipt()], runs: [aRun()] }).summary).not.toContain('hop');
  });

  it('tells what a refused person was told, where, and what is not known about it', () => {
    const told = {
      receiptId,
      repository: 'acme/api',
      number: '7',
      reasonCode: 'ACTOR_NOT_ALLOWED',
      detail: null,
      at: at(2),
      settledAt: at(4),
    };
    const refused = aReceipt({ outcome: 'reject', reasonCode: 'ACTOR_NOT_ALLOWED', runId: null });
    const confirmed = story({
      receipts: [refused],
      feedback: [{ ...told, state: 'confirmed', url: 'https://forge.example.com/c/1' }],
    });
    expect(confirmed.steps.at(-1)).toMatchObject({
      type: 'feedback.confirmed',
      at: at(4),
      receiptId,
      message: 'The refusal was told at acme/api#7, where it was asked: https://forge.example.com/c/1.',
    });
    const open = story({
      receipts: [refused],
      feedback: [{ ...told, state: 'ambiguous', url: null, settledAt: null }],
    });
    expect(open.steps.at(-1)?.message).toContain('is unknown');
  });

  it('tells when its repository was last looked at, and that nothing was found', () => {
    const look = {
      source: 'acme',
      repository: 'acme/api',
      lookedAt: at(20),
      outcome: 'looked',
      detail: null,
    };
    const { steps } = story({ receipts: [aReceipt()], looks: [{ ...look, quietLooks: 4 }] });
    expect(steps.at(-1)).toMatchObject({
      type: 'source.looked',
      reasonCode: 'NOTHING_FOUND',
      message: 'The last look at acme/api (source acme) found nothing new, like 3 looks before it.',
    });
  });

  it('tells of a source that nothing is known from when it was last looked at', () => {
    const look = { source: 'acme', repository: 'acme/api', lookedAt: at(0), outcome: 'looked', detail: null };
    const sight = { source: 'acme', lastAt: null, lastType: null, lastOutcome: null, lastReasonCode: null };
    const labelled = (quietLooks: number, outcome = 'looked') =>
      explainNothing('x', [{ ...sight, look: { ...look, quietLooks, outcome } }], at(30)).candidates.at(-1)
        ?.label;
    expect(labelled(3)).toContain('Last looked at 30 s ago (acme/api): nothing new was found.');
    expect(labelled(0)).toContain('what was found has its receipts');
    expect(labelled(0, 'denied')).toContain('the look failed (denied)');
  });
});
