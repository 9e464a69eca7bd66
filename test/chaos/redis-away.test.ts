/** Law 1: Redis is a hint. Emptied, restarted, stopped or never there, the results are the same. */
import { baselineOf, type Cluster, describeWithTool, startCluster, testDepth } from '@headgate/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

const RUNS = testDepth() === 'normal' ? 20 : 400;
/** Runs wait for slots here; what Redis may add is one poll interval each, which the slack covers. */
const SETTINGS = { slackMs: PATIENCE_MS };

describe('without Redis', () => {
  it(
    'Q1.C3: work is acknowledged and finished by polling when there has never been a Redis',
    async () => {
      const cluster = await startCluster({ layout: 'one', redis: 'none', services: { worker: 1 } });
      const runIds = await cluster.sendForRuns('quick', 6);
      await cluster.waitForRuns(runIds, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      await expectOnePushEach(cluster, runIds);
      expect((await cluster.check()).report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});

describeWithTool('redis', 'Redis lost while work is under way', () => {
  let cluster: Cluster;
  const runIds: string[] = [];

  beforeAll(async () => {
    cluster = await startCluster({ redis: 'private', services: { worker: 2 }, slots: 4 });
    cluster.sample();
  }, CLUSTER_TEST_MS);

  it(
    'INV-HI1: with FLUSHALL and a restart in the middle of the load every run is done',
    async () => {
      // One before the faults, for the time that a start takes with Redis.
      const before = await cluster.sendForRuns('quick', 2, 10_001);
      await cluster.waitForRuns(before, 'SUCCEEDED', PATIENCE_MS);
      const half = Math.ceil(RUNS / 2);
      const first = await cluster.sendForRuns('quick', half);
      await cluster.flushRedis();
      const second = await cluster.sendForRuns('quick', RUNS - half, half + 1);
      await cluster.flushRedis();
      await cluster.redis.server?.restart();
      runIds.push(...before, ...first, ...second);
      await cluster.waitForRuns(runIds, 'SUCCEEDED', PATIENCE_MS);
    },
    CLUSTER_TEST_MS,
  );

  it(
    'INV-HI1: with Redis stopped and started again later, work goes on meanwhile and afterwards',
    async () => {
      const before = await cluster.sendForRuns('quick', 4, 20_001);
      await cluster.redis.server?.kill9();
      const during = await cluster.sendForRuns('quick', 6, 30_001);
      // Not one of them has Redis: each is found by polling.
      await cluster.waitForRuns([...before, ...during], 'SUCCEEDED', PATIENCE_MS);
      await cluster.redis.server?.restart();
      const after = await cluster.sendForRuns('quick', 4, 40_001);
      await cluster.waitForRuns(after, 'SUCCEEDED', PATIENCE_MS);
      runIds.push(...before, ...during, ...after);
    },
    CLUSTER_TEST_MS,
  );

  it(
    'INV-HI1, INV-ST5: no result has changed, every run was done once, and none was out of sight meanwhile',
    async () => {
      await cluster.settle(PATIENCE_MS);
      await expectOnePushEach(cluster, runIds);
      expect(await cluster.ask.count('headgate.run')).toBe(runIds.length);
      const { input } = await cluster.check({ settings: SETTINGS });
      // The same work without faults would have ended so: every accepted run succeeds.
      const baseline = baselineOf(
        input.runs.map((run) => ({ ...run, status: 'SUCCEEDED', startedAtMs: null })),
      );
      const { report } = await cluster.check({
        settings: SETTINGS,
        baseline,
        mustHold: ['INV-HI1', 'INV-ST5', 'INV-ST1'],
      });
      expect(report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
