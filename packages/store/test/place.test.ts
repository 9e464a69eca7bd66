import { RUN_STATUSES, type RunStatus } from '@headgate/domain';
import { type RestingStatus, runInStatus, seedTenant, testStore } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { misplaced } from './place.js';

const isResting = (status: RunStatus): status is RestingStatus =>
  status !== 'STALE_LEASE' && status !== 'FAILED_RETRYABLE';

describe('where a run is', () => {
  test('Q10: each status rests with the item or lease that belongs to it, and no other', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    for (const status of RUN_STATUSES.filter(isResting)) {
      const { runId } = await runInStatus(db, status, { tenant });
      const [row] = await db.service.use((c) =>
        c.query<{ status: string }>('select status from headgate.run where id = $1', [runId]),
      );
      expect(row?.status).toBe(status);
      expect(await misplaced(db.service)).toEqual([]);
    }
  });

  test('the check sees a run without its lease, a lease without its run, and an item of an ended run', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const leased = await runInStatus(db, 'RUNNING', { tenant });
    const queued = await runInStatus(db, 'QUEUED', { tenant });
    const other = await runInStatus(db, 'CLAIMED', { tenant });
    await db.service.use(async (c) => {
      await c.query('delete from headgate.lease where run_id = $1', [leased.runId]);
      await c.query("update headgate.run set status = 'CANCEL_REQUESTED' where id = $1", [queued.runId]);
      await c.query('update headgate.lease set run_id = gen_random_uuid() where run_id = $1', [other.runId]);
    });
    expect(await misplaced(db.service)).toHaveLength(4);
  });
});
