import { systemIds, WORDS } from '@headgate/domain';
import { approvals, cancelTask, expireApprovals, sayWord, stopRuns } from '@headgate/store';
import {
  aProposedPush,
  claimRun,
  finishRun,
  itemAgain,
  needsApproval,
  proposedRun,
  type SeededRun,
  say,
  seedRun,
  seedTenant,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { beforeEach, describe, expect, test } from 'vitest';
import { misplaced } from './place.js';
import { isLatchReleased, latchBehind, receiptsOf, rows, statusOf, stepsOf } from './rows.js';
import { holdRows, sessionsWait } from './sessions.js';

const runOut = (db: TestStore, run: SeededRun) =>
  rows(db, 'update headgate.approval set expires_at = clock_timestamp() where run_id = $1', [run.runId]);
const requestsOf = (db: TestStore, run: SeededRun) =>
  rows(db, 'select outcome, decided_by as by, reason from headgate.approval where run_id = $1 order by id', [
    run.runId,
  ]);
const answerOf = async (heard: ReturnType<typeof say>) => (await heard)?.answer.kind;

describe('what a person is asked', () => {
  let db: TestStore;
  beforeEach(async () => {
    db = await testStore();
  });

  test('is written with the end of the attempt: the sealed result, the operations, the policy, seven days', async () => {
    const run = await proposedRun(db, {}, { policyVersion: 7, fourEyes: true });
    const request = await db.service.use((c) => approvals.of(c, run.runId));
    expect(request).toMatchObject({
      subject: 'proposal',
      policyVersion: 7,
      resultSha256: run.resultSha256,
      operations: [aProposedPush()],
      requester: 'mona',
      fourEyes: true,
      outcome: null,
      decidedAt: null,
    });
    if (request === null) throw new Error('nobody was asked');
    const standsMs = request.expiresAt.getTime() - request.requestedAt.getTime();
    expect(Math.round(standsMs / 86_400_000)).toBe(7);
  });

  test('an end that was refused or lost asks nobody', async () => {
    const run = await seedRun(db);
    const lease = await claimRun(db, run);
    await finishRun(db, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
    expect(await finishRun(db, lease, needsApproval())).toEqual({ kind: 'lost' });
    expect(await requestsOf(db, run)).toEqual([]);
  });

  test('a run waits for one thing at a time: the database refuses a second open request', async () => {
    const run = await proposedRun(db);
    const twice = db.service.use((c) =>
      approvals.request(c, [{ ...needsApproval().proposal, runId: run.runId, subject: 'proposal' }]),
    );
    await expect(twice).rejects.toMatchObject({ code: '23505' });
  });
});

describe('what was said', () => {
  let db: TestStore;
  beforeEach(async () => {
    db = await testStore();
  });

  test('publish: the run is QUEUED with an item, under a dispatch number that no old hint can have', async () => {
    const run = await proposedRun(db);
    expect(await say(db, run, 'publish', { reason: 'looks right' })).toMatchObject({
      answer: { kind: 'taken' },
      status: 'QUEUED',
    });
    expect((await stepsOf(db, run.runId)).at(-1)).toBe('WAITING_APPROVAL -> QUEUED');
    expect(await requestsOf(db, run)).toEqual([
      { outcome: 'approved', by: 'token:mona', reason: 'looks right' },
    ]);
    const [item] = await rows<{ state: string; dispatch_no: number }>(
      db,
      'select state, dispatch_no from headgate.queue_item',
    );
    expect(item?.state).toBe('ready');
    expect(item?.dispatch_no).toBeGreaterThanOrEqual(1_000);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('discard: CANCELLED with PROPOSAL_DISCARDED, its receipt closed and what waits behind released', async () => {
    const run = await proposedRun(db);
    await latchBehind(db, run);
    await say(db, run, 'discard');
    expect((await stepsOf(db, run.runId)).slice(-3)).toEqual([
      'WAITING_APPROVAL -> CANCEL_REQUESTED',
      'CANCEL_REQUESTED -> CANCELLING',
      'CANCELLING -> CANCELLED',
    ]);
    expect(await receiptsOf(db, run.runId)).toMatchObject([{ reason_code: 'PROPOSAL_DISCARDED' }]);
    expect(await isLatchReleased(db, run)).toBe(true);
    expect(await rows(db, 'select 1 from headgate.seal')).toHaveLength(1);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('approve and decline: work whose agent has not started goes on, or is denied and frees its version', async () => {
    const [wanted, unwanted] = [
      await seedRun(db, { status: 'WAITING_APPROVAL' }),
      await seedRun(db, { status: 'WAITING_APPROVAL' }),
    ];
    expect(await say(db, wanted, 'approve')).toMatchObject({ status: 'QUEUED' });
    expect(await say(db, unwanted, 'decline')).toMatchObject({ status: 'POLICY_DENIED' });
    expect(await receiptsOf(db, unwanted.runId)).toMatchObject([{ reason_code: 'APPROVAL_DECLINED' }]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('a word said twice changes nothing more, and an unknown run or another tenant’s is none', async () => {
    const run = await proposedRun(db);
    await say(db, run, 'publish');
    const events = () => rows(db, 'select count(*)::int as n from headgate.run_event');
    const before = await events();
    expect(await answerOf(say(db, run, 'publish'))).toBe('already');
    expect(await answerOf(say(db, run, 'discard'))).toBe('refused');
    expect(await events()).toEqual(before);
    expect(await say(db, { ...run, runId: systemIds.next('run') }, 'publish')).toBeNull();

    const other = await seedTenant(db, { key: 'other' });
    const theirs = await proposedRun(db, { tenant: other });
    const said = { runId: theirs.runId, approvalId: null, actor: 'x', reason: null, item: itemAgain(theirs) };
    for (const word of WORDS) {
      expect(await sayWord(db.api, { ...said, word, tenants: [run.tenant.id] })).toBeNull();
    }
    expect(await statusOf(db, theirs.runId)).toBe('WAITING_APPROVAL');
    expect((await sayWord(db.api, { ...said, word: 'publish', tenants: [other.id] }))?.status).toBe('QUEUED');
  });

  test('a word that names its request is not taken for a later one of the same run', async () => {
    const run = await proposedRun(db);
    const first = await db.service.use((c) => approvals.of(c, run.runId));
    if (first === null) throw new Error('nobody was asked');
    await say(db, run, 'publish', { approvalId: first.id });
    // The worker finds that the policy has changed, and asks again.
    await finishRun(db, await claimRun(db, run), needsApproval({ policyVersion: 2 }));
    expect(await answerOf(say(db, run, 'publish', { approvalId: first.id }))).toBe('already');
    expect(await statusOf(db, run.runId)).toBe('WAITING_APPROVAL');
    expect(await answerOf(say(db, run, 'publish'))).toBe('taken');
  });

  test('what takes the run away withdraws the request: a cancel, a newer version, the end of the task', async () => {
    for (const end of ['cancel', 'supersede', 'task'] as const) {
      const run = await proposedRun(db);
      if (end === 'task') await cancelTask(db.service, run.taskId, { actor: 'mona', reason: null });
      else {
        const reasonCode = end === 'cancel' ? 'CANCELLED_BY_USER' : 'SUPERSEDED';
        await db.service.transaction((c) =>
          stopRuns(c, [{ runId: run.runId, kind: end, reasonCode, actor: 'mona' }]),
        );
      }
      expect(await requestsOf(db, run)).toEqual([{ outcome: 'withdrawn', by: 'mona', reason: null }]);
      expect(await answerOf(say(db, run, 'publish'))).toBe('refused');
    }
  });
});

describe('races about one run', () => {
  let db: TestStore;
  let run: SeededRun;
  beforeEach(async () => {
    db = await testStore();
    run = await proposedRun(db);
  });

  /** Everybody waits in the order in which they came; then they go. */
  const inOrder = async <T>(...actors: readonly (() => Promise<T>)[]): Promise<T[]> => {
    const held = await holdRows(db, 'select 1 from headgate.task where id = $1 for update', [run.taskId]);
    const running: Promise<T>[] = [];
    for (const act of actors) {
      running.push(act());
      await sessionsWait(db, running.length);
    }
    await held.release();
    return Promise.all(running);
  };

  test('two people publish: one word is taken, the other finds it said; one item', async () => {
    const heard = await inOrder(
      () => say(db, run, 'publish'),
      () => say(db, run, 'publish', { actor: 'token:hubot' }),
    );
    expect(heard.map((one) => one?.answer.kind).sort()).toEqual(['already', 'taken']);
    expect(await rows(db, 'select 1 from headgate.queue_item')).toHaveLength(1);
  });

  test('publish and discard: one of them stands, the other is told who was first', async () => {
    const heard = await inOrder(
      () => say(db, run, 'publish'),
      () => say(db, run, 'discard'),
    );
    expect(heard.map((one) => one?.answer.kind).sort()).toEqual(['refused', 'taken']);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('a publish that waits while the run is cancelled is refused, and makes no item', async () => {
    const held = await holdRows(db, 'select 1 from headgate.task where id = $1 for update', [run.taskId]);
    const late = say(db, run, 'publish');
    await sessionsWait(db);
    await db.service.transaction((c) =>
      stopRuns(c, [{ runId: run.runId, kind: 'supersede', reasonCode: 'SUPERSEDED', actor: 'intake' }]),
    );
    await held.release();
    expect((await late)?.answer).toMatchObject({ kind: 'refused', code: 'WRONG_STATE' });
    expect(await statusOf(db, run.runId)).toBe('SUPERSEDED');
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('a newer version that comes right after the publish takes the run and its item', async () => {
    await say(db, run, 'publish');
    await db.service.transaction((c) =>
      stopRuns(c, [{ runId: run.runId, kind: 'supersede', reasonCode: 'SUPERSEDED', actor: 'intake' }]),
    );
    expect(await statusOf(db, run.runId)).toBe('SUPERSEDED');
    expect(await rows(db, 'select 1 from headgate.queue_item')).toEqual([]);
  });

  test('a word that was waiting when the request ran out is refused by the clock under its lock', async () => {
    const held = await holdRows(db, 'select 1 from headgate.task where id = $1 for update', [run.taskId]);
    const late = say(db, run, 'publish');
    await sessionsWait(db);
    await runOut(db, run);
    await held.release();
    expect((await late)?.answer).toMatchObject({ code: 'APPROVAL_EXPIRED' });
    expect(await statusOf(db, run.runId)).toBe('WAITING_APPROVAL');
  });

  test('the expiry passes over a run that was published while it waited for the lock', async () => {
    await runOut(db, run);
    const held = await holdRows(db, 'select 1 from headgate.task where id = $1 for update', [run.taskId]);
    const expiry = expireApprovals(db.service, [run.runId], 'reconciler');
    await sessionsWait(db);
    await held.session.query(
      "update headgate.approval set outcome = 'approved', decided_at = clock_timestamp() where run_id = $1",
      [run.runId],
    );
    await held.release();
    expect(await expiry).toEqual([]);
    expect(await statusOf(db, run.runId)).toBe('WAITING_APPROVAL');
  });
});

describe('requests that nobody answers', () => {
  test('end after their time: EXPIRED with APPROVAL_EXPIRED, each once, and none before', async () => {
    const db = await testStore();
    const [late, early] = [await proposedRun(db), await proposedRun(db)];
    await runOut(db, late);
    expect(await db.service.use((c) => approvals.overdue(c, 10))).toEqual([late.runId]);
    const expire = () => expireApprovals(db.service, [late.runId, early.runId], 'reconciler');
    expect(await expire()).toEqual([late.runId]);
    expect(await expire()).toEqual([]);
    expect(await receiptsOf(db, late.runId)).toMatchObject([{ reason_code: 'APPROVAL_EXPIRED' }]);
    expect(await statusOf(db, early.runId)).toBe('WAITING_APPROVAL');
    expect(await requestsOf(db, late)).toMatchObject([{ outcome: 'expired', by: 'reconciler' }]);
    expect((await say(db, late, 'publish'))?.answer).toMatchObject({ code: 'APPROVAL_EXPIRED' });
  });

  test('one whose run has gone on without it is closed all the same, and its run left alone', async () => {
    const db = await testStore();
    const run = await proposedRun(db);
    await say(db, run, 'publish');
    await rows(db, 'update headgate.approval set outcome = null, decided_at = null where run_id = $1', [
      run.runId,
    ]);
    await runOut(db, run);
    expect(await expireApprovals(db.service, [run.runId], 'reconciler')).toEqual([]);
    expect(await requestsOf(db, run)).toMatchObject([{ outcome: 'withdrawn' }]);
    expect(await statusOf(db, run.runId)).toBe('QUEUED');
  });
});
