/** Law 1: Redis is a hint. Emptied, restarted, stopped or never there, the results are the same. */
import { baselineOf, describeWithTool, startCluster, testDepth } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

const RUNS = testDepth() === 'normal' ? 40 : 400;
/** Runs wait for slots here; what Redis may add is one poll interval each, which the slack covers. */
const SETTINGS = { slackMs: PATIENCE_MS };

describe('without Redis', () => {
  it(
    'Q1.C3: work is acknowledged and finished by polling when there has never been a Redis',
    async () => {
      const cluster = await startCluster({ redis: 'none', services: { worker: 1 } });
      const runIds = await cluster.sendForRuns('quick', 8);
      await cluster.waitForRuns(runIds, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      await expectOnePushEach(cluster, runIds);
      const { report } = await cluster.check();
      expect(report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});

describeWithTool('redis', 'Redis lost while work is under way', () => {
  it(
    'INV-HI1: FLUSHALL and a restart in the middle of the load change no result, and every run is done once',
    async () => {
      const cluster = await startCluster({ redis: 'private', services: { worker: 2 }, slots: 4 });
      const before = await cluster.sendForRuns('quick', 4, 10_001);
      await cluster.waitForRuns(before, 'SUCCEEDED', PATIENCE_MS);
      cluster.sample();
      const half = Math.ceil(RUNS / 2);
      const first = await cluster.sendForRuns('quick', half);
      await cluster.flushRedis();
      const second = await cluster.sendForRuns('quick', RUNS - half, half + 1);
      await cluster.flushRedis();
      await cluster.redis.server?.restart();
      const runIds = [...before, ...first, ...second];
      await cluster.waitForRuns(runIds, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      await expectOnePushEach(cluster, runIds);
      expect(await cluster.ask.count('headgate.run')).toBe(runIds.length);
      // The same work without faults would have ended so: every accepted run succeeds.
      const { input } = await cluster.check({ settings: SETTINGS });
      const expected = baselineOf(
        input.runs.map((run) => ({ ...run, status: 'SUCCEEDED', startedAtMs: null })),
      );
      const { report } = await cluster.check({
        settings: SETTINGS,
        baseline: expected,
        mustHold: ['INV-HI1', 'INV-ST5', 'INV-ST1'],
      });
      expect(report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );

  it(
    'INV-HI1: with Redis stopped and started again later, work goes on meanwhile and afterwards',
    async () => {
      const cluster = await startCluster({ redis: 'private', services: { worker: 2 } });
      const before = await cluster.sendForRuns('quick', 4);
      await cluster.redis.server?.kill9();
      const during = await cluster.sendForRuns('quick', 8, 101);
      // Not one of them has Redis: each is found by polling.
      await cluster.waitForRuns([...before, ...during], 'SUCCEEDED', PATIENCE_MS);
      await cluster.redis.server?.restart();
      const after = await cluster.sendForRuns('quick', 4, 201);
      await cluster.waitForRuns(after, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      await expectOnePushEach(cluster, [...before, ...during, ...after]);
      const { report } = await cluster.check();
      expect(report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
