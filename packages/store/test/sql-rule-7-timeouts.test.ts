import { leases } from '@headgate/store';
import { claimRun, seedRun, type TestStore, testStore } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { openSession, serviceSession } from './sessions.js';

describe('SQL rule 7: every session has its time-outs', () => {
  test('they belong to the login roles, so they hold for every session, however it was opened', async () => {
    const db = await testStore();
    for (const url of [db.urls.serviceUrl, db.urls.apiUrl]) {
      const session = await openSession(url);
      const { rows } = await session.query(
        `select name, setting from pg_settings
          where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') order by name`,
      );
      expect(rows).toEqual([
        { name: 'idle_in_transaction_session_timeout', setting: '15000' },
        { name: 'lock_timeout', setting: '5000' },
        { name: 'statement_timeout', setting: '30000' },
      ]);
    }
  });

  test('broken variant: SET ROLE would not bring them', async () => {
    const db = await testStore();
    const owner = await openSession(db.urls.ownerUrl);
    // Roles are the cluster's, and other tests use it: the grant is seen in this transaction only.
    await owner.query('begin');
    await owner.query('grant headgate_service to current_user');
    await owner.query('set local role headgate_service');
    const { rows } = await owner.query('show lock_timeout');
    expect(rows).toEqual([{ lock_timeout: '0' }]);
    await owner.query('rollback');
  });

  test('a lock that is not to be had is given up after the lock time-out and tried again as a whole (55P03)', async () => {
    const db = await testStore();
    const run = await seedRun(db);
    const holder = await serviceSession(db);
    await holder.query('begin');
    await holder.query('select 1 from headgate.run where id = $1 for update', [run.runId]);
    let tries = 0;
    await db.service.transaction(async (c) => {
      tries += 1;
      await c.query("set local lock_timeout = '50ms'");
      if (tries === 2) await holder.query('commit');
      await c.query('select 1 from headgate.run where id = $1 for update', [run.runId]);
    });
    expect(tries).toBe(2);
  });

  test('a pool drained by slow work does not hold up a heartbeat: beats have sessions of their own', async () => {
    const db = await testStore({ maxConnections: 2 });
    const lease = await claimRun(db, await seedRun(db));
    const drained = await drain(db, 2);
    const beat = await db.reserved.use((c) => leases.beat(c, [lease.fence], lease.workerId, 60_000));
    expect(beat.leases.get(lease.fence.runId)?.answer).toBe('renewed');
    // The service pool really is drained: what asks it now waits.
    let isServed = false;
    const waiting = db.service.use(async () => {
      isServed = true;
    });
    await db.reserved.use((c) => c.query('select 1'));
    expect(isServed).toBe(false);
    drained.release();
    await waiting;
    await drained.ended;
  });
});

/** Takes `count` sessions of the service pool and keeps them busy until released. */
async function drain(db: TestStore, count: number): Promise<{ release(): void; ended: Promise<unknown> }> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const taken: Promise<void>[] = [];
  const busy = Array.from({ length: count }, () => {
    let isTaken = () => {};
    taken.push(
      new Promise((resolve) => {
        isTaken = resolve;
      }),
    );
    return db.service.transaction(async (c) => {
      await c.query('select 1');
      isTaken();
      await released;
    });
  });
  await Promise.all(taken);
  return { release, ended: Promise.all(busy) };
}
