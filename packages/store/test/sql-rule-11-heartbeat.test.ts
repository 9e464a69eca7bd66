import { systemIds } from '@headgate/domain';
import { type BeatResult, cancelRun, claim, leases, reap, workers } from '@headgate/store';
import {
  claimRun,
  eventually,
  expireLease,
  offerRuns,
  type SeededLease,
  seedRun,
  seedRuns,
  seedTenant,
  seedWorker,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { holdRows } from './sessions.js';

const TTL_MS = 60_000;

const beat = (
  db: TestStore,
  list: readonly Pick<SeededLease, 'fence' | 'workerId'>[],
  ttlMs = TTL_MS,
): Promise<BeatResult> => {
  const [first] = list;
  if (first === undefined) throw new Error('nothing to renew');
  return db.reserved.use((c) =>
    leases.beat(
      c,
      list.map(({ fence }) => fence),
      first.workerId,
      ttlMs,
    ),
  );
};
const answerOf = (result: BeatResult, { fence }: SeededLease) => result.leases.get(fence.runId);

describe('SQL rule 11: heartbeat', () => {
  test('Q4: one statement answers for every lease: renewed, control, busy, expired, lost', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const workerId = await seedWorker(db, { queueIds: [tenant.queueId] });
    const claimed = async () => claimRun(db, await seedRun(db, { tenant }), { workerId });
    const [renewed, told, busy, expired, lost] = [
      await claimed(),
      await claimed(),
      await claimed(),
      await claimed(),
      await claimed(),
    ];
    await cancelRun(db.service, told.fence.runId, { actor: 'mona', reason: null });
    await expireLease(db, expired.fence.runId);
    await db.service.use((c) => c.query('delete from headgate.lease where run_id = $1', [lost.fence.runId]));
    const held = await holdRows(db, 'select 1 from headgate.lease where run_id = $1 for update', [
      busy.fence.runId,
    ]);
    const result = await beat(db, [renewed, told, busy, expired, lost]);
    expect(answerOf(result, renewed)).toEqual({ answer: 'renewed', control: null });
    expect(answerOf(result, told)).toEqual({ answer: 'control', control: 'cancel' });
    expect(answerOf(result, busy)).toEqual({ answer: 'busy', control: null });
    expect(answerOf(result, expired)).toEqual({ answer: 'expired', control: null });
    expect(answerOf(result, lost)).toEqual({ answer: 'lost', control: null });
    expect(result.workerState).toBe('READY');
    await held.release();
    expect(answerOf(await beat(db, [busy]), busy)).toEqual({ answer: 'renewed', control: null });
  });

  test('INV-LE4: an expired lease is never renewed, however often it is asked, and its row stays as it is', async () => {
    const db = await testStore();
    const lease = await claimRun(db, await seedRun(db));
    await expireLease(db, lease.fence.runId);
    const expiry = () => db.service.use((c) => c.query('select expires_at from headgate.lease'));
    const before = await expiry();
    for (const _ of [1, 2, 3]) expect(answerOf(await beat(db, [lease]), lease)?.answer).toBe('expired');
    expect(await expiry()).toEqual(before);
  });

  test('replay (river #197): one that does not hold the lease renews nothing', async () => {
    const db = await testStore();
    const lease = await claimRun(db, await seedRun(db));
    const thief = { ...lease, fence: { ...lease.fence, leaseId: systemIds.next('lease') } };
    const expiry = () => db.service.use((c) => c.query('select expires_at from headgate.lease'));
    const before = await expiry();
    expect((await beat(db, [thief], 10 * TTL_MS)).leases.get(lease.fence.runId)?.answer).toBe('lost');
    expect(await expiry()).toEqual(before);
  });

  test('Q19: no renewal goes past renew_until, so an over-long attempt falls to the reaper by itself', async () => {
    const db = await testStore();
    const { fence, workerId } = await claimRun(db, await seedRun(db));
    const setRenewUntil = (interval: string) =>
      db.service.use((c) =>
        c.query(`update headgate.lease set renew_until = clock_timestamp() + interval '${interval}'`),
      );
    const capped = async () => {
      const [row] = await db.service.use((c) =>
        c.query<{ capped: boolean }>('select expires_at = renew_until as capped from headgate.lease'),
      );
      return row?.capped;
    };
    await setRenewUntil('1 hour');
    await beat(db, [{ fence, workerId }]);
    expect(await capped()).toBe(false);
    await setRenewUntil('1 second');
    await beat(db, [{ fence, workerId }]);
    expect(await capped()).toBe(true);
    const result = await eventually(
      async () => {
        const reaped = await reap(db.service, { limit: 9, graceMs: 1, random: () => 0.5, actor: 'reaper' });
        return reaped.kind === 'reaped' && reaped.runs.length > 0 ? reaped : null;
      },
      { what: 'the over-long attempt is reaped' },
    );
    expect(result.runs[0]).toMatchObject({ runId: fence.runId, reasonCode: 'WALL_CLOCK_EXCEEDED' });
  });

  test('a claim whose longest time is shorter than the TTL starts capped', async () => {
    const db = await testStore();
    await claimRun(db, await seedRun(db), { ttlMs: 100 * 3_600_000 });
    const rows = await db.service.use((c) =>
      c.query(
        'select expires_at <= renew_until as capped, renew_until - acquired_at as longest from headgate.lease',
      ),
    );
    expect(rows[0]).toMatchObject({ capped: true });
  });

  test('every renewal is HOT: no index entry is written, for leases and for the worker', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const workerId = await seedWorker(db, { queueIds: [tenant.queueId] });
    const hinted = await offerRuns(db, await seedRuns(db, 20, { tenant }));
    const result = await claim(db.service, {
      workerId,
      queueIds: [tenant.queueId],
      ttlMs: TTL_MS,
      policyVersion: tenant.policyVersion,
      hinted,
      limit: 20,
      verdictMaxAgeMs: 30_000,
    });
    if (result.kind !== 'claimed') throw new Error(result.kind);
    const fences = result.runs.map(({ runId, leaseId, fencingToken }) => ({ runId, leaseId, fencingToken }));
    expect(fences).toHaveLength(20);
    // One beat of leases that lie on a page with room: whether a full page could be pruned in time is another matter.
    const stats = await db.reserved.use(async (c) => {
      await leases.beat(c, fences, workerId, TTL_MS);
      await c.query('select pg_stat_force_next_flush()');
      return c.query<{ relname: string; updated: number; hot: number }>(
        `select relname, n_tup_upd::int as updated, n_tup_hot_upd::int as hot from pg_stat_user_tables
          where relname in ('lease', 'worker') order by relname`,
      );
    });
    expect(stats).toEqual([
      { relname: 'lease', updated: 20, hot: 20 },
      { relname: 'worker', updated: 1, hot: 1 },
    ]);
  });

  test('a worker that is stopped or declared dead hears UNKNOWN and is not brought back by a beat', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const workerId = await seedWorker(db, { queueIds: [tenant.queueId], leaseTtlMs: 1_000 });
    const state = async () =>
      (await db.reserved.use((c) => leases.beat(c, [], workerId, TTL_MS))).workerState;
    expect(await state()).toBe('READY');
    expect(await db.service.use((c) => workers.live(c))).toMatchObject([{ id: workerId, slots: 10 }]);
    await db.service.use((c) => c.query("update headgate.worker set heartbeat_at = now() - interval '3 s'"));
    expect(await db.service.use((c) => workers.live(c))).toEqual([]);
    expect(await db.service.use((c) => workers.declareDead(c, 10))).toMatchObject([{ id: workerId }]);
    expect(await state()).toBe('UNKNOWN');
    expect(await db.service.use((c) => workers.setState(c, workerId, 'READY'))).toBe(false);
    expect(await db.service.use((c) => workers.isReady(c, workerId))).toBe(false);
  });
});
