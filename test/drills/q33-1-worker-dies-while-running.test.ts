import { startCluster } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

describe('drill 1: a worker dies while its run is running', () => {
  it(
    'Q33.1: its lease expires, one attempt is charged as WORKER_LOST, and another worker finishes the run',
    async () => {
      const cluster = await startCluster({ layout: 'apart', services: { worker: 1 } });
      const runId = await cluster.sendForRun('gated-1');
      await cluster.gates.agentBegins(runId, 1, PATIENCE_MS);
      await cluster.waitForRun(runId, 'RUNNING', PATIENCE_MS);
      await cluster.member('worker').kill9();
      await cluster.add('worker');
      await cluster.gates.agentBegins(runId, 2, PATIENCE_MS);
      cluster.gates.openAgents();
      const run = await cluster.waitForRun(runId, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      expect(run.attemptNo).toBe(2);
      const attempts = await cluster.ask.attempts(runId);
      expect(attempts.map(({ status, reasonCode }) => [status, reasonCode])).toEqual([
        ['lost', 'WORKER_LOST'],
        ['succeeded', 'SUCCEEDED'],
      ]);
      expect(new Set(attempts.map(({ workerId }) => workerId)).size).toBe(2);
      await expectOnePushEach(cluster, [runId]);
      const { report } = await cluster.check({ mustHold: ['INV-LE1', 'INV-LE2', 'INV-LE6', 'INV-ST1'] });
      expect(report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
