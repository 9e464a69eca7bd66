import type { RunId } from '@headgate/domain';
import { aSource, CLUSTER_SOURCE, eventually, startCluster } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

describe('drill 6: the policy changes while a run is queued', () => {
  it(
    'Q33.6: it never starts, what runs already publishes nothing, and once allowed again the same work is done',
    async () => {
      const cluster = await startCluster({ layout: 'one', services: { worker: 1 }, slots: 1 });
      const running = await cluster.sendForRun('gated-1');
      await cluster.gates.agentBegins(running, PATIENCE_MS);
      const queued = await cluster.sendForRun('quick-1');
      expect((await cluster.ask.run(queued)).status).toBe('QUEUED');

      // The repository is no longer one that agents may work on.
      await cluster.changePolicy({ sources: [aSource({ id: CLUSTER_SOURCE, repositories: [] })] });
      cluster.gates.openAgents();
      await cluster.waitForRuns([running, queued], 'POLICY_DENIED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      expect(await cluster.ask.attempts(queued)).toEqual([]);
      expect(await cluster.ask.attempts(running)).toHaveLength(1);
      expect(await cluster.pushes()).toEqual([]);

      await cluster.changePolicy({});
      // A denied version is free again; intake follows the policy a moment later.
      const again = await eventually(
        async (): Promise<RunId | null> => {
          const reply = await cluster.send({ check: 'quick-1' });
          return reply.outcome === 'accept' && reply.existing === false ? reply.runId : null;
        },
        { what: 'the work is taken again', deadlineMs: PATIENCE_MS, everyMs: 200 },
      );
      await cluster.waitForRun(again, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      await expectOnePushEach(cluster, [again]);
      expect((await cluster.check({ mustHold: ['INV-ST1', 'INV-IN4'] })).report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
