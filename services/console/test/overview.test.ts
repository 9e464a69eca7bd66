/** The figures at the head of the console, against rows that are known. */
import type { Overview, Page, Run } from '@headgate/sdk';
import {
  claimRun,
  dispatchRun,
  finishRun,
  proposedRun,
  runInStatus,
  seedRun,
  seedWorker,
} from '@headgate/testkit';
import { expect, it } from 'vitest';
import { aConsole, aTwoTenantPolicy } from './a-console.js';

it('counts what runs of what could, what waits and why, the oldest that is ready, and what today has cost', async () => {
  const policy = aTwoTenantPolicy();
  const test = await aConsole({
    policy: { ...policy, budgets: { ...policy.budgets, perDayUsd: 25 } },
  });
  const { store, tenant } = test;
  const workerId = await seedWorker(store, { queueIds: [tenant.queueId], slots: 4 });
  const claim = { workerId };
  await runInStatus(store, 'RUNNING', { tenant, claim });
  await runInStatus(store, 'CANCEL_REQUESTED', { tenant, claim });
  const spent = await seedRun(store, { tenant });
  await finishRun(
    store,
    await claimRun(store, spent, claim),
    { kind: 'succeeded', reasonCode: 'SUCCEEDED' },
    1.25,
  );
  const oldest = await seedRun(store, { tenant });
  await seedRun(store, { tenant });
  await runInStatus(store, 'WAITING_CAPACITY', { tenant });
  await dispatchRun(store, await seedRun(store, { tenant }));
  // In no queue: they wait for a person, take nobody's place, and are counted as waiting all the same.
  await proposedRun(store, { tenant });
  await seedRun(store, { tenant, status: 'WAITING_APPROVAL' });
  // A worker that is stopped, and one whose heartbeat is old, offer nothing.
  const [stopped, silent] = [
    await seedWorker(store, { queueIds: [tenant.queueId], slots: 7 }),
    await seedWorker(store, { queueIds: [tenant.queueId], slots: 9 }),
  ];
  await store.service.use(async (c) => {
    await c.query("update headgate.worker set state = 'STOPPED' where id = $1", [stopped]);
    await c.query(
      "update headgate.worker set heartbeat_at = clock_timestamp() - interval '1 hour' where id <> $1 and id <> $2",
      [workerId, stopped],
    );
    await c.query(
      "update headgate.worker set heartbeat_at = clock_timestamp() - interval '1 hour' where id = $1",
      [silent],
    );
  });
  const [row] = await store.service.use((c) =>
    c.query<{ at: Date }>('select enqueued_at as at from headgate.queue_item where run_id = $1', [
      oldest.runId,
    ]),
  );

  const overview = await test.json<Overview>('/v1/overview');
  expect(overview).toMatchObject({
    running: 2,
    slots: 4,
    liveWorkers: 1,
    waiting: { total: 6, eligible: 3, notEligible: 3, counted: 6 },
    oldestReadyAt: row?.at.toISOString(),
    spentTodayUsd: 1.25,
    dayLimitUsd: 25,
  });
  expect(overview.waiting.reasons).toEqual([
    { reasonCode: 'READY', count: 3 },
    { reasonCode: 'APPROVAL_REQUIRED', count: 2 },
    { reasonCode: 'SOURCE_UNAVAILABLE', count: 1 },
  ]);
  const asked = await test.json<Page<Run>>('/v1/runs?waitingReason=APPROVAL_REQUIRED');
  expect(asked.items).toHaveLength(2);
  const theirs = await test.json<Overview>('/v1/overview', { token: test.tokens.other });
  expect(theirs).toMatchObject({ running: 0, waiting: { total: 0 }, oldestReadyAt: null, spentTodayUsd: 0 });
});

it('what a limit holds back is not eligible, and says which limit', async () => {
  const policy = aTwoTenantPolicy();
  const [first, ...others] = policy.tenants;
  if (first === undefined) throw new Error('the policy has tenants');
  const test = await aConsole({ policy: { ...policy, tenants: [{ ...first, maxActive: 1 }, ...others] } });
  const { store, tenant } = test;
  const workerId = await seedWorker(store, { queueIds: [tenant.queueId], slots: 4 });
  await runInStatus(store, 'RUNNING', { tenant, claim: { workerId } });
  await seedRun(store, { tenant });
  expect((await test.json<Overview>('/v1/overview')).waiting).toEqual({
    total: 1,
    eligible: 0,
    notEligible: 1,
    counted: 1,
    reasons: [{ reasonCode: 'TENANT_AT_LIMIT', count: 1 }],
  });
});
