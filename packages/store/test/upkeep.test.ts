import {
  expireOverdue,
  promoteDue,
  readyPairs,
  reap,
  takeBackUnclaimed,
  unansweredHints,
} from '@headgate/store';
import { dispatchRun, runInStatus, seedRun, type TestStore, testStore } from '@headgate/testkit';
import { beforeEach, describe, expect, test } from 'vitest';
import { misplaced } from './place.js';
import { receiptsOf, rows, statusOf, stepsOf } from './rows.js';
import { holdRows } from './sessions.js';

const UPKEEP = { hintAgainAfterMs: 5_000, takeBackAfterMs: 30_000, limit: 100, actor: 'scheduler' };
const ago = (column: string, seconds: number) =>
  `update headgate.queue_item set ${column} = now() - interval '${seconds} s'`;

describe('upkeep of what waits', () => {
  let db: TestStore;
  beforeEach(async () => {
    db = await testStore();
  });

  test('an unanswered hint is sent again after five seconds, with the trace of the run, and then rests', async () => {
    const run = await seedRun(db, { receipt: { traceparent: '00-1-2-01' } });
    const dispatchNo = await dispatchRun(db, run);
    expect(await unansweredHints(db.service, UPKEEP)).toEqual([]);
    await rows(db, ago('dispatched_at', 6));
    expect(await unansweredHints(db.service, UPKEEP)).toEqual([]);
    await rows(db, ago('hinted_at', 6));
    expect(await unansweredHints(db.service, UPKEEP)).toEqual([
      {
        runId: run.runId,
        dispatchNo,
        queueId: run.tenant.queueId,
        tenantId: run.tenant.id,
        traceparent: '00-1-2-01',
      },
    ]);
    expect(await unansweredHints(db.service, UPKEEP)).toEqual([]);
  });

  test('an item that nobody claimed is taken back with an event, and its dispatch number counts on', async () => {
    const run = await seedRun(db);
    await dispatchRun(db, run);
    expect(await takeBackUnclaimed(db.service, UPKEEP)).toEqual([]);
    await rows(db, ago('dispatched_at', 31));
    expect(await takeBackUnclaimed(db.service, UPKEEP)).toEqual([{ runId: run.runId }]);
    expect(
      await rows(db, 'select state, dispatched_at, hinted_at, verdict from headgate.queue_item'),
    ).toEqual([{ state: 'ready', dispatched_at: null, hinted_at: null, verdict: null }]);
    expect(
      await rows(db, "select actor, data from headgate.run_event where reason_code = 'DISPATCH_EXPIRED'"),
    ).toEqual([{ actor: 'scheduler', data: { dispatchNo: 1 } }]);
    expect(await dispatchRun(db, run)).toBe(2);
  });

  test('an item that a claim holds is neither taken back nor hinted nor expired', async () => {
    const run = await seedRun(db, { timeToLiveMs: 0 });
    await dispatchRun(db, run);
    await rows(db, ago('dispatched_at', 60));
    await rows(db, ago('hinted_at', 60));
    const held = await holdRows(db, 'select 1 from headgate.queue_item for update');
    expect(await takeBackUnclaimed(db.service, UPKEEP)).toEqual([]);
    expect(await unansweredHints(db.service, UPKEEP)).toEqual([]);
    expect(await expireOverdue(db.service, 10, 'scheduler')).toEqual([]);
    await held.release();
  });

  test('a due item becomes ready, and a run that waited for capacity is QUEUED in the same transaction', async () => {
    const capacity = await runInStatus(db, 'WAITING_CAPACITY');
    expect(await promoteDue(db.service, 10, 'scheduler')).toEqual([]);
    await rows(db, ago('visible_at', 1));
    expect(await promoteDue(db.service, 10, 'scheduler')).toEqual([
      { runId: capacity.runId, tenantId: capacity.tenant.id, queueId: capacity.tenant.queueId },
    ]);
    expect((await stepsOf(db, capacity.runId)).slice(-1)).toEqual(['WAITING_CAPACITY -> QUEUED']);
    expect(await rows(db, 'select state, waits from headgate.queue_item')).toEqual([
      { state: 'ready', waits: null },
    ]);
    expect(await db.service.use((c) => readyPairs(c))).toEqual([
      { queueId: capacity.tenant.queueId, tenantId: capacity.tenant.id },
    ]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('a run in back-off is QUEUED all the time: its promotion moves the item alone', async () => {
    const run = await seedRun(db);
    await rows(db, "update headgate.queue_item set state = 'delayed', waits = 'backoff', visible_at = now()");
    expect(await promoteDue(db.service, 10, 'scheduler')).toHaveLength(1);
    expect(await stepsOf(db, run.runId)).toEqual(['QUEUED']);
  });

  test('the time to live bounds the wait before the first claim: EXPIRED with receipt and tombstone', async () => {
    const [overdue, fresh] = [
      await seedRun(db, { timeToLiveMs: 0 }),
      await seedRun(db, { timeToLiveMs: 60_000 }),
    ];
    expect(await expireOverdue(db.service, 10, 'scheduler')).toEqual([overdue.runId]);
    expect(await statusOf(db, fresh.runId)).toBe('QUEUED');
    expect(await receiptsOf(db, overdue.runId)).toMatchObject([
      { outcome: 'no-work', reason_code: 'TIME_TO_LIVE_EXPIRED', attempt_no: null },
    ]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('replay (trigger.dev #4669): once claimed, a requeued run has no time to live left to lapse', async () => {
    const run = await runInStatus(db, 'RUNNING', { timeToLiveMs: 600_000 });
    await rows(db, "update headgate.lease set expires_at = now() - interval '1 s'");
    await reap(db.service, { limit: 9, graceMs: 1, random: () => 0.5, actor: 'reaper' });
    expect(await rows(db, 'select expires_at from headgate.queue_item')).toEqual([{ expires_at: null }]);
    expect(await expireOverdue(db.service, 10, 'scheduler')).toEqual([]);
    expect(await statusOf(db, run.runId)).toBe('QUEUED');
  });
});
