/** Redis and the database, put right in both directions; and every hint lost at once. */

import {
  claimRun,
  describeWithTool,
  dispatchRun,
  eventually,
  privateRedis,
  seedRun,
  testRedis,
} from '@headgate/testkit';
import { hintJobIdOf } from '@headgate/transport';
import { expect, test } from 'vitest';
import { aWorld, type World } from './world.js';

const healthy = (world: World): Promise<unknown> =>
  eventually(() => world.context.bus.health().state === 'healthy', { what: 'hints are healthy' });
const waiting = async (world: World): Promise<readonly string[]> => {
  const answer = await world.context.bus.listHints('default', 100);
  if (!answer.ok) throw new Error(answer.message);
  return answer.value.map((hint) => hint.jobId);
};
const longAgo = (world: World, runId: string): Promise<unknown> =>
  world.rows(
    `update headgate.queue_item
        set dispatched_at = clock_timestamp() - interval '61 seconds',
            hinted_at = clock_timestamp() - interval '61 seconds' where run_id = $1`,
    [runId],
  );
const both = async (world: World, job: string): Promise<void> => {
  await Promise.all([world.reconciler().round(job), world.reconciler().round(job)]);
};

describeWithTool('redis', 'hints', () => {
  test('Q2: FLUSHALL: a dispatch that no scheduler hints again is hinted by the reconciler, once, after a minute', async () => {
    const server = await privateRedis();
    const world = await aWorld({ redis: { url: server.url } });
    await healthy(world);
    const run = await seedRun(world.db, { tenant: world.tenant });
    const dispatchNo = await dispatchRun(world.db, run);
    await world.context.bus.publish([{ queue: 'default', runId: run.runId, dispatchNo, traceparent: null }]);
    expect(await waiting(world)).toHaveLength(1);
    await world.context.bus.flushOwnKeys();
    await both(world, 'missing-hints');
    expect(await waiting(world)).toEqual([]);
    await longAgo(world, run.runId);
    await both(world, 'missing-hints');
    expect(await waiting(world)).toEqual([hintJobIdOf(run.runId, dispatchNo)]);
    expect(await world.repairs()).toMatchObject([
      { reasonCode: 'REPAIR_HINT_RESENT', runId: run.runId, data: { dispatchNo } },
    ]);
  });

  test('Q2: hints of a dispatch that is over, or never was, are removed; a standing one stays however old', async () => {
    const redis = await testRedis();
    const world = await aWorld({ redis });
    await healthy(world);
    const { bus } = world.context;
    const standing = await seedRun(world.db, { tenant: world.tenant });
    const over = await seedRun(world.db, { tenant: world.tenant });
    const standingNo = await dispatchRun(world.db, standing);
    await claimRun(world.db, over);
    const invented = '0190a000-0000-7000-8000-0000000000ff' as typeof over.runId;
    await bus.publish(
      [
        { runId: standing.runId, dispatchNo: standingNo },
        { runId: over.runId, dispatchNo: 1 },
        { runId: standing.runId, dispatchNo: standingNo + 1 },
        { runId: invented, dispatchNo: 3 },
      ].map((hint) => ({ ...hint, queue: 'default', traceparent: null })),
    );
    await both(world, 'stray-hints');
    expect(await waiting(world)).toHaveLength(4);

    const old = world.reconciler({ lateMs: -60_000 });
    const other = world.reconciler({ lateMs: -60_000 });
    await Promise.all([old.round('stray-hints'), other.round('stray-hints')]);
    expect(await waiting(world)).toEqual([hintJobIdOf(standing.runId, standingNo)]);
    const told = await world.repairs();
    expect(told.map((repair) => [repair.reasonCode, repair.runId])).toEqual(
      expect.arrayContaining([
        ['REPAIR_HINT_REMOVED', over.runId],
        ['REPAIR_HINT_REMOVED', standing.runId],
      ]),
    );
    expect(told).toHaveLength(2);
  });
});

test('Q2: without Redis nothing is hinted and nothing is told: workers poll', async () => {
  const world = await aWorld();
  const run = await seedRun(world.db, { tenant: world.tenant });
  await dispatchRun(world.db, run);
  await longAgo(world, run.runId);
  await both(world, 'missing-hints');
  await both(world, 'stray-hints');
  expect(await world.repairs()).toEqual([]);
});
