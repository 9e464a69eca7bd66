import { systemIds } from '@headgate/domain';
import { policies } from '@headgate/store';
import { seedRuns, seedTenant, seedWorker, type TestStore, testStore } from '@headgate/testkit';
import { beforeEach, describe, expect, test } from 'vitest';
import { fill } from '../src/index.js';

describe('filling the slots that a worker has just freed', () => {
  let db: TestStore;
  beforeEach(async () => {
    db = await testStore();
  });

  const activePolicy = async () => {
    const active = await db.service.use((c) => policies.active(c));
    if (active === null) throw new Error('no policy is active');
    return active;
  };

  test('Q13: dispatches as many as are free, from all tenants that have something ready, and no more', async () => {
    const tenants = [await seedTenant(db, { key: 'one' }), await seedTenant(db, { key: 'two' })];
    const [{ queueId }] = tenants as [(typeof tenants)[number]];
    const workerId = await seedWorker(db, { queueIds: [queueId], slots: 10 });
    for (const tenant of tenants) await seedRuns(db, 6, { tenant });
    const request = { queueIds: [queueId], policy: await activePolicy() };

    const filled = await fill(db.service, { ...request, workerId: systemIds.next('wkr'), slots: 4 });

    expect(filled.items).toHaveLength(4);
    for (const { id } of tenants) {
      expect(filled.items.filter((item) => item.tenantId === id)).toHaveLength(2);
    }
    // Six more slots are free elsewhere, and there is something for them.
    expect(filled.isMoreLeft).toBe(true);
    const rest = await fill(db.service, { ...request, workerId, slots: 10 });
    expect(rest.items).toHaveLength(6);
    // What a verdict on each needs comes with it.
    expect(rest.runs.map(({ runId, dispatchNo }) => [runId, dispatchNo]).sort()).toEqual(
      rest.items.map(({ runId, dispatchNo }) => [runId, dispatchNo]).sort(),
    );
    // The worker is full: what is left waits for a slot, and no scheduler could start it.
    expect(rest.isMoreLeft).toBe(false);
  });

  test('Q13: of two who fill at once one is turned away, and is told to wake a scheduler', async () => {
    const tenant = await seedTenant(db);
    const workerId = await seedWorker(db, { queueIds: [tenant.queueId], slots: 10 });
    await seedRuns(db, 1, { tenant });
    const request = { workerId, queueIds: [tenant.queueId], slots: 1, policy: await activePolicy() };

    const turnedAway = await db.service.transaction(async (other) => {
      await other.query("select pg_advisory_xact_lock(hashtextextended('headgate.dispatch', 0))");
      return fill(db.service, request);
    });

    expect(turnedAway).toEqual({ items: [], runs: [], isMoreLeft: true });
    expect((await fill(db.service, request)).items).toHaveLength(1);
  });

  test('what is ready in a queue of other workers is left to a scheduler', async () => {
    const tenant = await seedTenant(db);
    const queueIds = [tenant.queueId + 1_000];
    const workerId = await seedWorker(db, { queueIds, slots: 10 });
    await seedRuns(db, 1, { tenant });
    const request = { workerId, queueIds, slots: 1, policy: await activePolicy() };
    expect(await fill(db.service, request)).toEqual({ items: [], runs: [], isMoreLeft: true });
  });

  test('under another policy than the active one nothing is dispatched', async () => {
    const tenant = await seedTenant(db);
    const workerId = await seedWorker(db, { queueIds: [tenant.queueId], slots: 10 });
    await seedRuns(db, 1, { tenant });
    const active = await activePolicy();
    const policy = { ...active, version: active.version + 1 };
    const filled = await fill(db.service, { workerId, queueIds: [tenant.queueId], slots: 1, policy });
    expect(filled).toEqual({ items: [], runs: [], isMoreLeft: true });
  });
});
