/** A person who does not answer. */
import { proposedRun, seedRun } from '@headgate/testkit';
import { expect, test } from 'vitest';
import { aWorld } from './world.js';

test('a request that nobody answered in seven days ends its run, once, by one of many reconcilers', async () => {
  const world = await aWorld();
  const { tenant } = world;
  const [late, early] = [await proposedRun(world.db, { tenant }), await proposedRun(world.db, { tenant })];
  const unstarted = await seedRun(world.db, { tenant, status: 'WAITING_APPROVAL' });
  await world.rows(
    `update headgate.approval set requested_at = requested_at - interval '7 days', expires_at = expires_at - interval '7 days'
      where run_id = any ($1)`,
    [[late.runId, unstarted.runId]],
  );
  await Promise.all([
    world.reconciler().round('expired-approvals'),
    world.reconciler().round('expired-approvals'),
  ]);
  const runs = await world.rows<{ id: string; status: string; reason: string; told: number }>(
    `select r.id, r.status, r.reason_code as reason,
            (select count(*)::int from headgate.run_event e where e.run_id = r.id and e.to_status = 'EXPIRED') as told
       from headgate.run r`,
  );
  for (const { runId } of [late, unstarted]) {
    expect(runs).toContainEqual({ id: runId, status: 'EXPIRED', reason: 'APPROVAL_EXPIRED', told: 1 });
  }
  expect(runs).toContainEqual({
    id: early.runId,
    status: 'WAITING_APPROVAL',
    reason: 'APPROVAL_REQUIRED',
    told: 0,
  });
});
