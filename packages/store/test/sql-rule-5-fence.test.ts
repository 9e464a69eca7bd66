import { systemIds } from '@headgate/domain';
import { artifacts, enterStages, finish, leases, reap, seals } from '@headgate/store';
import {
  claimRun,
  expireLease,
  finishRun,
  runInStatus,
  type SeededLease,
  seedRun,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { misplaced } from './place.js';
import { holdRows, sessionsWait } from './sessions.js';

const reaping = { limit: 100, graceMs: 1_000, random: () => 0.5, actor: 'reaper' };
const seal = {
  verdict: 'no-change',
  baseVersion: 'a',
  commitSha: null,
  verification: null,
  summary: null,
  bundle: Buffer.alloc(0),
} as const;

/** Everything that a claimant may write, tried with one fence. */
async function writeAll(db: TestStore, { fence, attemptId, workerId }: SeededLease) {
  const stages = await enterStages(db.service, [{ fence, to: 'RUNNING', actor: 'zombie' }]);
  const beat = await db.reserved.use((c) => leases.beat(c, [fence], workerId, 60_000));
  const sealed = await seals.put(db.service, fence, attemptId, seal, 'agent/zombie');
  const finished = await finish(
    db.service,
    [
      {
        fence,
        attemptId,
        result: { kind: 'succeeded', reasonCode: 'SUCCEEDED' },
        costUsd: 1,
        evidence: null,
        actor: 'zombie',
      },
    ],
    () => 0.5,
  );
  return {
    stage: stages.get(fence.runId),
    beat: beat.leases.get(fence.runId)?.answer,
    sealed,
    finished: finished.get(fence.runId)?.kind,
  };
}

const everyRow = (db: TestStore) =>
  db.service.use((c) =>
    c.query(`select to_jsonb(r) as run, to_jsonb(l) as lease,
                    (select jsonb_agg(to_jsonb(a) order by number) from headgate.attempt a where a.run_id = r.id) as attempts,
                    (select count(*) from headgate.run_event) as events, (select count(*) from headgate.seal) as seals,
                    (select sum(settled_usd) from headgate.tenant_day) as settled
               from headgate.run r left join headgate.lease l on l.run_id = r.id`),
  );

const REFUSED = { stage: 'lost', beat: 'lost', sealed: 'lost', finished: 'lost' };

describe('SQL rule 5: the fence is the lease row, by token and id', () => {
  test('the right token with another lease id writes nothing, and so does the right id with another token', async () => {
    const db = await testStore();
    const lease = await claimRun(db, await seedRun(db));
    const before = await everyRow(db);
    const other = systemIds.next('lease');
    expect(await writeAll(db, { ...lease, fence: { ...lease.fence, leaseId: other } })).toEqual(REFUSED);
    const token = String(BigInt(lease.fence.fencingToken) + 1n);
    expect(await writeAll(db, { ...lease, fence: { ...lease.fence, fencingToken: token } })).toEqual(REFUSED);
    expect(withoutCost(await everyRow(db))).toEqual(withoutCost(before));
  });

  test('replay (hatchet #1022): a worker that thaws after another took the run writes no row', async () => {
    const db = await testStore();
    const run = await seedRun(db);
    const zombie = await claimRun(db, run);
    await expireLease(db, run.runId);
    await reap(db.service, { ...reaping, random: () => 0 });
    await db.service.use((c) => c.query("update headgate.queue_item set state = 'ready', waits = null"));
    const successor = await claimRun(db, run);
    expect(BigInt(successor.fence.fencingToken)).toBeGreaterThan(BigInt(zombie.fence.fencingToken));
    const before = await everyRow(db);
    expect(await writeAll(db, zombie)).toEqual(REFUSED);
    expect(withoutCost(await everyRow(db))).toEqual(withoutCost(before));
    expect(await finishRun(db, successor, { kind: 'succeeded', reasonCode: 'SUCCEEDED' })).toMatchObject({
      kind: 'finished',
      status: 'SUCCEEDED',
    });
  });

  test('replay (solid_queue 761): the old worker finishes and releases twice; the slot of its successor stands', async () => {
    const db = await testStore();
    const run = await seedRun(db, { concurrency: { key: 'deploy', limit: 1 } });
    const zombie = await claimRun(db, run);
    await expireLease(db, run.runId);
    await reap(db.service, reaping);
    const rival = await seedRun(db, { concurrency: { key: 'deploy', limit: 1 } });
    const held = await claimRun(db, rival);
    for (const _ of [1, 2]) {
      expect(await finishRun(db, zombie, { kind: 'succeeded', reasonCode: 'SUCCEEDED' })).toEqual({
        kind: 'lost',
      });
    }
    const rows = await db.service.use((c) => c.query('select run_id from headgate.lease'));
    expect(rows).toEqual([{ run_id: held.fence.runId }]);
  });

  test('finisher and reaper: the one that locks the lease row first wins, and the other writes nothing', async () => {
    const db = await testStore();
    const success = { kind: 'succeeded', reasonCode: 'SUCCEEDED' } as const;
    for (const first of ['finisher', 'reaper'] as const) {
      const { runId, lease } = await runInStatus(db, 'RUNNING');
      if (lease === null) throw new Error('no lease');
      await expireLease(db, runId);
      // The first one has the lease and waits for the run, which a third session holds; then the second comes.
      const held = await holdRows(db, 'select 1 from headgate.run where id = $1 for update', [runId]);
      const finishing = first === 'finisher' ? finishRun(db, lease, success) : null;
      const reapingFirst = first === 'reaper' ? reap(db.service, reaping) : null;
      await sessionsWait(db);
      if (finishing !== null) {
        expect(await reap(db.service, reaping)).toEqual({ kind: 'reaped', runs: [], refused: [] });
        await held.release();
        expect(await finishing).toMatchObject({ kind: 'finished', status: 'SUCCEEDED' });
      } else {
        const late = finishRun(db, lease, success);
        await sessionsWait(db, 2);
        await held.release();
        expect(await reapingFirst).toMatchObject({ kind: 'reaped', runs: [{ runId, status: 'QUEUED' }] });
        expect(await late).toEqual({ kind: 'lost' });
      }
      expect(await misplaced(db.service)).toEqual([]);
    }
  });

  test('broken variant: a copy of the token on the run accepts the write of another lease with the same token', async () => {
    const db = await testStore();
    const { fence } = await claimRun(db, await seedRun(db));
    const byTokenAlone = await db.service.use((c) =>
      c.query('select 1 as accepted from headgate.lease where run_id = $1 and fencing_token = $2', [
        fence.runId,
        fence.fencingToken,
      ]),
    );
    expect(byTokenAlone).toHaveLength(1);
    const forged = { ...fence, leaseId: systemIds.next('lease') };
    expect(await db.service.transaction((c) => leases.lockFenced(c, [forged]))).toEqual([]);
  });

  test('artifacts are kept by attempt and name; a second upload of one changes nothing', async () => {
    const db = await testStore();
    const run = await seedRun(db);
    const { fence, attemptNo } = await claimRun(db, run);
    const file = {
      name: 'agent.log',
      path: 'x/1/agent.log',
      bytes: 3,
      sha256: Buffer.alloc(32),
      mediaType: 'text/plain',
    };
    const put = () =>
      db.service.use((c) => artifacts.insert(c, { fence, tenantId: run.tenant.id, attemptNo }, [file]));
    expect(await put()).toBe(1);
    expect(await put()).toBe(0);
  });
});

/** A refused finish may have made the day's row of a cost it did not settle. */
const withoutCost = (rows: readonly Record<string, unknown>[]) => rows.map(({ settled: _, ...row }) => row);
