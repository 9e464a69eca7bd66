import { cancelRun, leases, type ReapResult, reap } from '@headgate/store';
import {
  claimRun,
  expireLease,
  runInStatus,
  type SeededLease,
  type SeededTenant,
  seedRun,
  seedTenant,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { beforeEach, describe, expect, test } from 'vitest';
import { misplaced } from './place.js';
import { isLatchReleased, latchBehind, receiptsOf, rows, statusOf, stepsOf } from './rows.js';
import { holdRows, sessionsWait } from './sessions.js';

const OPTIONS = { limit: 100, graceMs: 60_000, random: () => 0.5, actor: 'reconciler' };
const reapedBy = (result: ReapResult) => (result.kind === 'reaped' ? result.runs : []);

describe('the reaper', () => {
  let db: TestStore;
  beforeEach(async () => {
    db = await testStore();
  });
  const expired = async (tenant?: SeededTenant): Promise<SeededLease> => {
    const { runId, lease } = await runInStatus(db, 'RUNNING', tenant === undefined ? {} : { tenant });
    if (lease === null) throw new Error('no lease');
    await expireLease(db, runId);
    return lease;
  };

  test('Q4: an expired lease ends its attempt as lost, and the run waits for the next one', async () => {
    const { fence, attemptId } = await expired();
    const standing = await runInStatus(db, 'RUNNING');
    const result = await reap(db.service, OPTIONS);
    expect(reapedBy(result)).toMatchObject([
      {
        runId: fence.runId,
        leaseId: fence.leaseId,
        fencingToken: fence.fencingToken,
        reasonCode: 'WORKER_LOST',
        status: 'QUEUED',
      },
    ]);
    const [taken] = reapedBy(result);
    expect(taken !== undefined && taken.reapedAtMs > taken.expiredAtMs).toBe(true);
    const state = await rows(
      db,
      `select q.state, q.waits, a.status, a.reason_code, r.failures_lease_lost as lost, r.failures_application as application
         from headgate.run r join headgate.queue_item q on q.run_id = r.id join headgate.attempt a on a.id = $1`,
      [attemptId],
    );
    expect(state).toEqual([
      {
        state: 'delayed',
        waits: 'backoff',
        status: 'lost',
        reason_code: 'WORKER_LOST',
        lost: 1,
        application: 0,
      },
    ]);
    expect((await stepsOf(db, fence.runId)).slice(-3)).toEqual([
      'RUNNING -> STALE_LEASE',
      'STALE_LEASE -> FAILED_RETRYABLE',
      'FAILED_RETRYABLE -> QUEUED',
    ]);
    expect(await statusOf(db, standing.runId)).toBe('RUNNING');
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('an attempt that reached its longest time ends WALL_CLOCK_EXCEEDED, charged to the application', async () => {
    const { fence } = await expired();
    await rows(db, 'update headgate.lease set renew_until = expires_at');
    expect(reapedBy(await reap(db.service, OPTIONS))).toMatchObject([
      { reasonCode: 'WALL_CLOCK_EXCEEDED', status: 'QUEUED' },
    ]);
    expect(
      await rows(
        db,
        'select failures_lease_lost as lost, failures_application as application from headgate.run where id = $1',
        [fence.runId],
      ),
    ).toEqual([{ lost: 0, application: 1 }]);
  });

  test('the poison cap: the third lost lease ends the run with a dead letter', async () => {
    const { fence } = await expired();
    await rows(db, 'update headgate.run set failures_lease_lost = 2');
    expect(reapedBy(await reap(db.service, OPTIONS))).toMatchObject([{ status: 'FAILED' }]);
    expect((await stepsOf(db, fence.runId)).slice(-2)).toEqual([
      'RUNNING -> STALE_LEASE',
      'STALE_LEASE -> FAILED',
    ]);
    expect(await rows(db, 'select reason_code from headgate.dead_letter')).toEqual([
      { reason_code: 'ATTEMPTS_EXHAUSTED' },
    ]);
    expect(await receiptsOf(db, fence.runId)).toMatchObject([
      { reason_code: 'ATTEMPTS_EXHAUSTED', attempt_no: 1 },
    ]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test.each(['CANCEL_REQUESTED', 'CANCELLING'] as const)(
    'Q5: in %s the expiry ends CANCELLED, never a retry',
    async (status) => {
      const run = await runInStatus(db, status);
      await latchBehind(db, run);
      await expireLease(db, run.runId);
      expect(reapedBy(await reap(db.service, OPTIONS))).toMatchObject([
        { runId: run.runId, status: 'CANCELLED' },
      ]);
      expect(await rows(db, 'select status from headgate.attempt')).toEqual([{ status: 'lost' }]);
      expect(await rows(db, 'select failures_lease_lost as lost from headgate.run')).toEqual([{ lost: 0 }]);
      expect(await isLatchReleased(db, run)).toBe(true);
      expect(await misplaced(db.service)).toEqual([]);
    },
  );

  test('INV-ST3, replay (airflow #25843): reapers that see one expiry at once use one attempt', async () => {
    const list = [await expired(), await expired(), await expired()];
    const results = await Promise.all([1, 2, 3, 4, 5].map(() => reap(db.service, OPTIONS)));
    const taken = results.flatMap(reapedBy).map((run) => run.runId);
    expect(taken.toSorted()).toEqual(list.map(({ fence }) => fence.runId).toSorted());
    expect(
      await rows(db, 'select distinct failures_lease_lost as lost, attempt_no from headgate.run'),
    ).toEqual([{ lost: 1, attempt_no: 1 }]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('a second reaper passes over what the first one holds, and takes the rest', async () => {
    const [held, free] = [await expired(), await expired()];
    const lock = await holdRows(db, 'select 1 from headgate.run where id = $1 for update', [
      held.fence.runId,
    ]);
    const first = reap(db.service, { ...OPTIONS, limit: 100 });
    await sessionsWait(db);
    expect(reapedBy(await reap(db.service, OPTIONS))).toEqual([]);
    await lock.release();
    expect(
      reapedBy(await first)
        .map((run) => run.runId)
        .toSorted(),
    ).toEqual([held.fence.runId, free.fence.runId].toSorted());
  });

  test('it takes at most `limit` a turn', async () => {
    for (const _ of [1, 2, 3]) await expired();
    expect(reapedBy(await reap(db.service, { ...OPTIONS, limit: 2 }))).toHaveLength(2);
    expect(reapedBy(await reap(db.service, { ...OPTIONS, limit: 2 }))).toHaveLength(1);
  });

  test('a lease that was renewed between the look and the lock is left alone', async () => {
    const { fence } = await expired();
    const lock = await holdRows(
      db,
      "update headgate.lease set expires_at = now() + interval '1 h' where run_id = $1",
      [fence.runId],
    );
    expect(reapedBy(await reap(db.service, OPTIONS))).toEqual([]);
    await lock.release();
    expect(reapedBy(await reap(db.service, OPTIONS))).toEqual([]);
    expect(await statusOf(db, fence.runId)).toBe('RUNNING');
  });
});

describe('mass expiry', () => {
  test('more than ten and more than half at once: each lease is given one grace, once, and is then reaped', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    for (let n = 0; n < 12; n += 1) await claimRun(db, await seedRun(db, { tenant }));
    const expireAll = () => rows(db, "update headgate.lease set expires_at = now() - interval '1 s'");
    await expireAll();
    const first = await Promise.all([reap(db.service, OPTIONS), reap(db.service, OPTIONS)]);
    expect(first.flatMap((result) => (result.kind === 'graced' ? result.leases : []))).toHaveLength(12);
    expect(first.flatMap(reapedBy)).toEqual([]);
    expect(await db.service.use((c) => leases.counts(c))).toEqual({
      live: 12,
      expired: 0,
      expiredUngraced: 0,
    });
    expect(
      await rows(
        db,
        "select count(*)::int as n from headgate.run_event where reason_code = 'MASS_EXPIRY' and lease_id is not null",
      ),
    ).toEqual([{ n: 12 }]);
    await expireAll();
    expect(reapedBy(await reap(db.service, OPTIONS))).toHaveLength(12);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('ten of ten are taken: so few say nothing about a stall', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    for (let n = 0; n < 10; n += 1) await claimRun(db, await seedRun(db, { tenant }));
    await rows(db, "update headgate.lease set expires_at = now() - interval '1 s'");
    expect(reapedBy(await reap(db.service, OPTIONS))).toHaveLength(10);
  });

  test('a holder that comes back within its grace renews its lease and goes on; over-long attempts get none', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const list: SeededLease[] = [];
    for (let n = 0; n < 12; n += 1) list.push(await claimRun(db, await seedRun(db, { tenant })));
    await rows(db, "update headgate.lease set expires_at = now() - interval '1 s'");
    const [overlong, back] = list;
    if (overlong === undefined || back === undefined) throw new Error('no lease');
    await rows(db, 'update headgate.lease set renew_until = expires_at where run_id = $1', [
      overlong.fence.runId,
    ]);
    const result = await reap(db.service, OPTIONS);
    expect(result.kind === 'graced' && result.leases).toHaveLength(11);
    const beat = await db.reserved.use((c) => leases.beat(c, [back.fence], back.workerId, 60_000));
    expect(beat.leases.get(back.fence.runId)?.answer).toBe('renewed');
    expect(reapedBy(await reap(db.service, OPTIONS))).toMatchObject([
      { runId: overlong.fence.runId, reasonCode: 'WALL_CLOCK_EXCEEDED' },
    ]);
    await cancelRun(db.service, back.fence.runId, { actor: 'x', reason: null });
    expect(await misplaced(db.service)).toEqual([]);
  });
});
