/**
 * river #197, #217, #219: a client that does not hold the leadership renews it all the same; and with a TTL equal to
 * the tick of the one who renews, it lapses between two ticks.
 */
import { loadConfig, readSettings } from '@headgate/config';
import type { WorkerId } from '@headgate/domain';
import { createReconciler, ReconcilerTimingError } from '@headgate/reconciler';
import { createContext } from '@headgate/service';
import { leases } from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import {
  aPolicy,
  atEnd,
  claimRun,
  expireLease,
  finishRun,
  seedRun,
  seedTenant,
  testStore,
} from '@headgate/testkit';
import { describe, expect, test } from 'vitest';

describe('a non-holder renews', () => {
  test('Q13, INV-LE3: with another token, another lease id, or an old claim of the same run it changes 0 rows', async () => {
    const db = await testStore();
    const run = await seedRun(db, { tenant: await seedTenant(db) });
    const old = await claimRun(db, run);
    await finishRun(db, old, { kind: 'handed-back', reasonCode: 'WORKER_DRAINED', retryAfterMs: null });
    const held = await claimRun(db, run);
    const read = () =>
      db.service.use((c) => c.query('select expires_at, xmin::text as version from headgate.lease'));
    const before = await read();
    const beat = (fence: typeof held.fence, workerId: WorkerId) =>
      db.reserved.use((c) => leases.beat(c, [fence], workerId, 3_600_000));
    const intruders = [
      old.fence,
      { ...held.fence, fencingToken: old.fence.fencingToken },
      { ...held.fence, leaseId: old.fence.leaseId },
    ];
    for (const fence of intruders) {
      expect((await beat(fence, old.workerId)).leases.get(run.runId)?.answer).toBe('lost');
    }
    expect(await read()).toEqual(before);
    expect((await beat(held.fence, held.workerId)).leases.get(run.runId)?.answer).toBe('renewed');
    expect(await read()).not.toEqual(before);
    await expireLease(db, run.runId);
    expect((await beat(held.fence, held.workerId)).leases.get(run.runId)?.answer).toBe('expired');
  });
});

describe('a TTL equal to the tick', () => {
  const yaml = (lease: string): string => `version: 1
lease: ${lease}
sources: { local: { kind: git, repositories: { notes: { url: "local:notes" } } } }
agents: { tool: { runtime: command, command: [node] } }
routes: { tidy: { on: [manual] } }
`;

  test('Q14: a heartbeat as long as the lease is refused in the configuration', async () => {
    const refused = await loadConfig({ text: yaml('{ ttl: 15s, heartbeat: 15s }'), env: {} });
    expect(refused.ok).toBe(false);
    if (refused.ok) return;
    expect(refused.problems.map((problem) => problem.path)).toContain('lease.heartbeat');
    const fine = await loadConfig({
      text: yaml('{ ttl: 12s, heartbeat: 3s, renewDeadline: 8s, stopMargin: 4s }'),
      env: {},
    });
    expect(fine).toMatchObject({ ok: true });
  });

  test('Q14: a reaper that looks as seldom as leases last is refused at the start', async () => {
    const db = await testStore();
    const lease = { ttlMs: 12_000, heartbeatMs: 3_000, renewDeadlineMs: 8_000, stopMarginMs: 4_000 };
    await seedTenant(db, { policy: aPolicy({ lease }) });
    const read = readSettings({ LOG_LEVEL: 'silent' });
    if (!read.ok) throw new Error('the settings are wrong');
    const context = createContext({
      settings: read.settings,
      name: 'test',
      serviceUrl: db.urls.serviceUrl,
      apiUrl: null,
      redisUrl: null,
      logger: createLogger('test', { level: 'silent' }),
    });
    atEnd(() => context.close());
    await context.policy.refresh();
    expect(() => createReconciler(context, { timing: { reapMs: 12_000 } })).toThrow(ReconcilerTimingError);
    expect(createReconciler(context).name).toBe('reconciler');
  });
});
