import { enterStages, leases } from '@headgate/store';
import { claimRun, type SeededLease, seedRun, type TestStore, testStore } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { holdRows, serviceSession, sessionsWait, untilDatabaseTime } from './sessions.js';

const TTL_MS = 1_500;

/** A lease whose row another session holds, without changing it, from before its expiry until after it. */
async function waitPastExpiry<T>(db: TestStore, waiting: (lease: SeededLease) => Promise<T>): Promise<T> {
  const run = await seedRun(db);
  const lease = await claimRun(db, run, { ttlMs: TTL_MS });
  const held = await holdRows(db, 'select 1 from headgate.lease where run_id = $1 for update', [run.runId]);
  const answer = waiting(lease);
  await sessionsWait(db);
  const { rows } = await held.session.query<{ at: Date }>('select expires_at as at from headgate.lease');
  const [expiry] = rows;
  if (expiry === undefined) throw new Error('there is no lease');
  await untilDatabaseTime(db, expiry.at);
  await held.release();
  return answer;
}

describe('SQL rule 2: lock the row first, then compare with the clock', () => {
  test('a lease that expired during the lock wait is not current', async () => {
    const db = await testStore();
    const locked = await waitPastExpiry(db, ({ fence }) =>
      db.service.transaction((c) => leases.lockFenced(c, [fence])),
    );
    expect(locked.map((lease) => lease.current)).toEqual([false]);
  });

  test('I14: a stage write that waited past the expiry is refused', async () => {
    const db = await testStore();
    const answers = await waitPastExpiry(db, ({ fence }) =>
      enterStages(db.service, [{ fence, to: 'RUNNING', actor: 'worker' }]),
    );
    expect([...answers.values()]).toEqual(['lost']);
  });

  test('broken variants: one level, and now(), both take the expired lease for current', async () => {
    for (const clock of ['clock_timestamp()', 'now()']) {
      const db = await testStore();
      const session = await serviceSession(db);
      const rows = await waitPastExpiry(db, async ({ fence }) => {
        const result = await session.query<{ current: boolean }>(
          `select expires_at > ${clock} as current from headgate.lease where run_id = $1 for update`,
          [fence.runId],
        );
        return result.rows;
      });
      expect(rows).toEqual([{ current: true }]);
    }
  });

  test('broken variant: now() stands still, so a renewal at the end of a long transaction is let through', async () => {
    const db = await testStore();
    const run = await seedRun(db);
    const session = await serviceSession(db);
    const lease = await claimRun(db, run, { ttlMs: TTL_MS });
    await session.query('begin');
    const { rows } = await session.query<{ at: Date }>('select expires_at as at, now() from headgate.lease');
    await untilDatabaseTime(db, rows[0]?.at ?? new Date());
    const isCurrent = (clock: string) =>
      session.query<{ current: boolean }>(
        `select expires_at > ${clock} as current from headgate.lease where run_id = $1`,
        [lease.fence.runId],
      );
    expect((await isCurrent('now()')).rows).toEqual([{ current: true }]);
    expect((await isCurrent('clock_timestamp()')).rows).toEqual([{ current: false }]);
    await session.query('rollback');
  });
});
