import { RUN_STATUSES, type RunStatus, systemIds } from '@headgate/domain';
import { claim, reap, type Stop, stopRuns } from '@headgate/store';
import {
  expireLease,
  finishRun,
  offerRuns,
  type RestingStatus,
  runInStatus,
  type SeededRun,
  seedRun,
  seedWorker,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { misplaced } from './place.js';
import { receiptsOf, rows, statusOf, stepsOf } from './rows.js';
import { holdRows, sessionsWait } from './sessions.js';

const stop = async (db: TestStore, run: Pick<SeededRun, 'runId'>, kind: Stop['kind'], retries = 0) => {
  const reasonCode = kind === 'cancel' ? 'CANCELLED_BY_USER' : 'SUPERSEDED';
  const stopped = await db.service.transaction(
    (c) => stopRuns(c, [{ runId: run.runId, kind, reasonCode, actor: 'mona' }]),
    { retries },
  );
  return stopped.get(run.runId);
};

/** The run row is held: whoever is in the middle of a transaction on it waits there, with its earlier locks. */
const holdRun = (db: TestStore, run: Pick<SeededRun, 'runId'>) =>
  holdRows(db, 'select 1 from headgate.run where id = $1 for update', [run.runId]);

const WAITING = ['ADMITTED', 'WAITING_APPROVAL', 'WAITING_CAPACITY', 'QUEUED'];
const RESTING = RUN_STATUSES.filter(
  (status): status is RestingStatus => status !== 'STALE_LEASE' && status !== 'FAILED_RETRYABLE',
);
const CANCELLING = ['CANCEL_REQUESTED', 'CANCELLING'];
const TERMINAL = ['SUCCEEDED', 'FAILED', 'CANCELLED', 'NO_WORK', 'SUPERSEDED', 'EXPIRED', 'POLICY_DENIED'];

function expected(status: RunStatus, kind: Stop['kind']) {
  if (TERMINAL.includes(status)) return { result: 'terminal', status };
  if (CANCELLING.includes(status)) return { result: 'already', status };
  if (WAITING.includes(status))
    return { result: 'ended', status: kind === 'cancel' ? 'CANCELLED' : 'SUPERSEDED' };
  if (kind === 'supersede' && status === 'FINALIZING') return { result: 'finishing', status };
  return { result: 'requested', status: 'CANCEL_REQUESTED' };
}

describe('stop a run, in each status', () => {
  let db: TestStore;
  beforeAll(async () => {
    db = await testStore();
  });

  for (const kind of ['cancel', 'supersede'] as const) {
    test.each(RESTING)(`${kind} in %s`, async (status) => {
      const run = await runInStatus(db, status);
      const answer = await stop(db, run, kind);
      expect(answer).toEqual(expected(status, kind));
      expect(await statusOf(db, run.runId)).toBe(answer?.status);
      expect(await misplaced(db.service)).toEqual([]);
      if (answer?.result === 'requested') {
        expect(await rows(db, 'select control from headgate.lease where run_id = $1', [run.runId])).toEqual([
          { control: kind },
        ]);
      }
      if (answer?.result === 'ended') {
        expect(await receiptsOf(db, run.runId)).toHaveLength(1);
        expect(
          await rows(db, 'select outcome from headgate.task_version where run_id = $1', [run.runId]),
        ).toEqual([{ outcome: answer.status }]);
      }
    });
  }

  test('an unknown run is told as unknown, and nothing to stop is nothing', async () => {
    expect(await stop(db, { runId: systemIds.next('run') }, 'cancel')).toEqual({
      result: 'unknown',
      status: null,
    });
    expect(await db.service.transaction((c) => stopRuns(c, []))).toEqual(new Map());
  });

  test('Q5: without a lease all three steps are taken in one transaction, each with its event', async () => {
    const run = await seedRun(db);
    await stop(db, run, 'cancel');
    expect(await stepsOf(db, run.runId)).toEqual([
      'QUEUED',
      'QUEUED -> CANCEL_REQUESTED',
      'CANCEL_REQUESTED -> CANCELLING',
      'CANCELLING -> CANCELLED',
    ]);
    const events = await rows(
      db,
      'select count(distinct xid)::int as transactions from headgate.run_event where run_id = $1 and actor = $2',
      [run.runId, 'mona'],
    );
    expect(events).toMatchObject([{ transactions: expect.any(Number) }]);
    const xids = await rows(
      db,
      'select count(distinct xid)::int as n from headgate.run_event where run_id = $1 and from_status is not null',
      [run.runId],
    );
    expect(xids).toEqual([{ n: 1 }]);
  });

  test('a cancel that stands is not weakened to a supersede, and a drain gives way to a cancel', async () => {
    const run = await runInStatus(db, 'RUNNING');
    await rows(db, "update headgate.lease set control = 'drain' where run_id = $1", [run.runId]);
    await stop(db, run, 'cancel');
    expect(await stop(db, run, 'supersede')).toEqual({ result: 'already', status: 'CANCEL_REQUESTED' });
    expect(
      await rows(
        db,
        'select l.control, r.reason_code from headgate.lease l join headgate.run r on r.id = l.run_id where l.run_id = $1',
        [run.runId],
      ),
    ).toEqual([{ control: 'cancel', reason_code: 'CANCELLED_BY_USER' }]);
  });

  test('a superseded run that is leased ends CANCELLED with the reason SUPERSEDED', async () => {
    const run = await runInStatus(db, 'RUNNING');
    await stop(db, run, 'supersede');
    if (run.lease === null) throw new Error('no lease');
    expect(await finishRun(db, run.lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' })).toMatchObject({
      status: 'CANCELLED',
    });
    expect(await rows(db, 'select reason_code from headgate.run where id = $1', [run.runId])).toEqual([
      { reason_code: 'SUPERSEDED' },
    ]);
  });
});

describe('a stop that races', () => {
  let db: TestStore;
  beforeEach(async () => {
    db = await testStore();
  });
  const claiming = async (run: SeededRun) => {
    const workerId = await seedWorker(db, { queueIds: [run.tenant.queueId] });
    return claim(db.service, {
      workerId,
      queueIds: [run.tenant.queueId],
      ttlMs: 60_000,
      policyVersion: run.tenant.policyVersion,
      hinted: await offerRuns(db, [run]),
      limit: 1,
      verdictMaxAgeMs: 30_000,
    });
  };

  test('a claim that was first: it commits, and the run is asked to stop', async () => {
    const run = await seedRun(db);
    const held = await holdRun(db, run);
    const claimed = claiming(run);
    await sessionsWait(db);
    const stopped = stop(db, run, 'cancel');
    await sessionsWait(db, 2);
    await held.release();
    expect(await claimed).toMatchObject({ kind: 'claimed', runs: [{ runId: run.runId }] });
    expect(await stopped).toEqual({ result: 'requested', status: 'CANCEL_REQUESTED' });
    expect(await rows(db, 'select control from headgate.lease')).toEqual([{ control: 'cancel' }]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('a claim that comes second: it finds nothing to claim, and the run has ended', async () => {
    const run = await seedRun(db);
    const workerId = await seedWorker(db, { queueIds: [run.tenant.queueId] });
    const hinted = await offerRuns(db, [run]);
    const held = await holdRun(db, run);
    const stopped = stop(db, run, 'cancel');
    await sessionsWait(db);
    const claimed = await claim(db.service, {
      workerId,
      queueIds: [run.tenant.queueId],
      ttlMs: 60_000,
      policyVersion: run.tenant.policyVersion,
      hinted,
      limit: 1,
      verdictMaxAgeMs: 30_000,
    });
    expect(claimed).toEqual({ kind: 'claimed', runs: [], busy: [] });
    await held.release();
    expect(await stopped).toEqual({ result: 'ended', status: 'CANCELLED' });
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('a finish that was first and retries: its new item is found and removed', async () => {
    const run = await runInStatus(db, 'RUNNING');
    if (run.lease === null) throw new Error('no lease');
    const held = await holdRun(db, run);
    const finished = finishRun(db, run.lease, {
      kind: 'failed',
      reasonCode: 'AGENT_FAILED',
      detail: null,
      retryAfterMs: null,
    });
    await sessionsWait(db);
    const stopped = stop(db, run, 'cancel');
    await sessionsWait(db, 2);
    await held.release();
    expect(await finished).toMatchObject({ status: 'QUEUED' });
    expect(await stopped).toEqual({ result: 'ended', status: 'CANCELLED' });
    expect(await rows(db, 'select 1 from headgate.queue_item')).toEqual([]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('INV-ST2: a finish that was first and succeeds: the run has ended', async () => {
    const run = await runInStatus(db, 'FINALIZING');
    if (run.lease === null) throw new Error('no lease');
    const held = await holdRun(db, run);
    const finished = finishRun(db, run.lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
    await sessionsWait(db);
    const stopped = stop(db, run, 'cancel');
    await sessionsWait(db, 2);
    await held.release();
    expect(await finished).toMatchObject({ status: 'SUCCEEDED' });
    expect(await stopped).toEqual({ result: 'terminal', status: 'SUCCEEDED' });
  });

  test('replay (windmill 11246): a cancel that was first, after the last poll: the finish ends CANCELLED', async () => {
    const run = await runInStatus(db, 'FINALIZING');
    if (run.lease === null) throw new Error('no lease');
    const held = await holdRun(db, run);
    const stopped = stop(db, run, 'cancel');
    await sessionsWait(db);
    const finished = finishRun(db, run.lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
    await sessionsWait(db, 2);
    await held.release();
    expect(await stopped).toEqual({ result: 'requested', status: 'CANCEL_REQUESTED' });
    expect(await finished).toMatchObject({ status: 'CANCELLED' });
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('the reaper that was first: its retry is found and removed', async () => {
    const run = await runInStatus(db, 'RUNNING');
    await expireLease(db, run.runId);
    const held = await holdRun(db, run);
    const reaped = reap(db.service, { limit: 9, graceMs: 1, random: () => 0.5, actor: 'reaper' });
    await sessionsWait(db);
    const stopped = stop(db, run, 'supersede');
    await sessionsWait(db, 2);
    await held.release();
    expect(await reaped).toMatchObject({ kind: 'reaped', runs: [{ status: 'QUEUED' }] });
    expect(await stopped).toEqual({ result: 'ended', status: 'SUPERSEDED' });
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('two stops: one waits for the other and finds it under way', async () => {
    const run = await runInStatus(db, 'RUNNING');
    const held = await holdRun(db, run);
    const first = stop(db, run, 'cancel');
    await sessionsWait(db);
    const second = stop(db, run, 'supersede');
    await sessionsWait(db, 2);
    await held.release();
    expect([(await first)?.result, (await second)?.result]).toEqual(['requested', 'already']);
  });
});
