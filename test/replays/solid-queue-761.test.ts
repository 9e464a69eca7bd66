/**
 * solid_queue PR 761: a process fails to beat, its jobs are released by another, the old process finishes and releases
 * once more; the semaphore counts two releases for one claim, and two run at a limit of one.
 */
import { placementViolations, reap } from '@headgate/store';
import {
  claimRun,
  expireLease,
  finishRun,
  offerRun,
  type SeededRun,
  seedRun,
  seedTenant,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { expect, test } from 'vitest';

const reaper = (db: TestStore) =>
  reap(db.service, { limit: 10, graceMs: 60_000, random: () => 0, actor: 'reconciler' });
/** The back-off is over. */
const dueNow = (db: TestStore, { runId }: SeededRun) =>
  db.service.use((c) =>
    c.query(
      "update headgate.queue_item set state = 'ready', waits = null, visible_at = clock_timestamp() where run_id = $1",
      [runId],
    ),
  );

test('I11, INV-LE8: reaped, taken over, and finished late by the old worker: a limit of one stays one', async () => {
  const db = await testStore();
  const tenant = await seedTenant(db);
  const concurrency = { key: 'release', limit: 1 };
  const first = await seedRun(db, { tenant, concurrency });
  const second = await seedRun(db, { tenant, concurrency });
  const old = await claimRun(db, first);
  await expireLease(db, first.runId);
  await reaper(db);
  await dueNow(db, first);

  // Somebody else holds the key now, and the old worker comes back: with its late result, twice, and to the reaper.
  const holder = await claimRun(db, second);
  const late = () => finishRun(db, old, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
  expect([await late(), await late()]).toEqual([{ kind: 'lost' }, { kind: 'lost' }]);
  await reaper(db);

  // The slot was not given back a second time: the first run is turned away, uncharged, until the holder is done.
  await expect(claimRun(db, first)).rejects.toThrow('was not claimed');
  const held = () => db.service.use((c) => c.query('select run_id from headgate.lease'));
  expect(await held()).toEqual([{ run_id: second.runId }]);
  expect(await finishRun(db, holder, { kind: 'succeeded', reasonCode: 'SUCCEEDED' })).toMatchObject({
    kind: 'finished',
  });
  expect(await held()).toEqual([]);
  await offerRun(db, first);
  const [run] = await db.service.use((c) =>
    c.query('select attempt_no, failures_lease_lost as lost from headgate.run where id = $1', [first.runId]),
  );
  expect(run).toEqual({ attempt_no: 1, lost: 1 });
  expect(await db.service.use((c) => placementViolations(c))).toEqual([]);
});
