/** The deployable itself: it starts alone, is killed in the middle of its work, and another one takes over. */
import {
  claimRun,
  eventually,
  expireLease,
  seedRun,
  spawnService,
  temporaryDataFolder,
} from '@headgate/testkit';
import { expect, test } from 'vitest';
import { aWorld, type World } from './world.js';

const start = (world: World, failPoints = '') =>
  spawnService({
    entry: 'services/reconciler/src/main.ts',
    nodeArgs: ['--conditions=headgate-source', '--import', 'tsx'],
    env: {
      DATABASE_URL_SERVICE: world.db.urls.serviceUrl,
      HEADGATE_DATA_DIR: temporaryDataFolder(),
      HEADGATE_PORT: '0',
      HEADGATE_FAILPOINTS: failPoints,
    },
  });

test('Q4: killed with the lease row locked it leaves nothing; the next one takes the lease once, and stops on SIGTERM', async () => {
  const world = await aWorld();
  const run = await seedRun(world.db, { tenant: world.tenant });
  await claimRun(world.db, run);
  await expireLease(world.db, run.runId);
  const read = () =>
    world.rows<Record<string, unknown>>(
      `select r.status, r.failures_lease_lost as lost, a.status as attempt
         from headgate.run r join headgate.attempt a on a.run_id = r.id`,
    );

  const first = await start(world, 'reconciler.reap.locked=kill');
  expect(await first.exited).toMatchObject({ signal: 'SIGKILL' });
  expect(await read()).toEqual([{ status: 'CLAIMED', lost: 0, attempt: 'running' }]);

  const second = await start(world);
  await second.waitForOutput(/reconciler is ready/, 60_000);
  await eventually(async () => (await read())[0]?.['status'] === 'QUEUED', {
    what: 'the expired lease is taken',
    deadlineMs: 20_000,
  });
  expect(await read()).toEqual([{ status: 'QUEUED', lost: 1, attempt: 'lost' }]);
  expect(await second.terminate()).toEqual({ code: 0, signal: null });
}, 180_000);
