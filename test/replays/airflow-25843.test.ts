/** airflow #25843: several schedulers see one expired lease, and each uses up an attempt. */
import { reap } from '@headgate/store';
import { claimRun, expireLease, seedRun, seedTenant, testStore } from '@headgate/testkit';
import { expect, test } from 'vitest';

test('Q4, INV-ST3: six reapers see one expired lease: one attempt is used, one lease lost is counted', async () => {
  const db = await testStore();
  const run = await seedRun(db, { tenant: await seedTenant(db) });
  await claimRun(db, run);
  await expireLease(db, run.runId);
  const reaper = () =>
    reap(db.service, { limit: 100, graceMs: 60_000, random: () => 0.5, actor: 'reconciler' });
  const results = await Promise.all([1, 2, 3, 4, 5, 6].map(reaper));
  const taken = results.flatMap((result) => (result.kind === 'reaped' ? result.runs : []));
  expect(taken).toMatchObject([{ runId: run.runId, status: 'QUEUED', reasonCode: 'WORKER_LOST' }]);
  const rows = await db.service.use((c) =>
    c.query(
      `select r.status, r.failures_lease_lost as lost, r.attempt_no as attempts,
              (select count(*)::int from headgate.queue_item q where q.run_id = r.id) as items,
              (select count(*)::int from headgate.run_event e where e.run_id = r.id and e.to_status = 'STALE_LEASE') as told
         from headgate.run r`,
    ),
  );
  expect(rows).toEqual([{ status: 'QUEUED', lost: 1, attempts: 1, items: 1, told: 1 }]);
});
