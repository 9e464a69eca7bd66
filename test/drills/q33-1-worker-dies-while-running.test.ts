import { SHORT_LEASE, startCluster } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

describe('drill 1: a worker dies while its run is running', () => {
  it(
    'Q33.1: its lease expires, one attempt is charged as WORKER_LOST, and another worker finishes the run',
    async () => {
      const cluster = await startCluster({ services: { worker: 1 }, lease: SHORT_LEASE });
      const runId = await cluster.sendForRun('gated-1');
      const attempt = await cluster.gates.agentBegins(runId, PATIENCE_MS);
      await cluster.waitForRun(runId, 'RUNNING', PATIENCE_MS);
      await cluster.member('worker').kill9();
      await cluster.add('worker');
      await cluster.gates.agentBegins(runId, PATIENCE_MS, attempt);
      cluster.gates.openAgents();
      await cluster.waitForRun(runId, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      const attempts = await cluster.ask.attempts(runId);
      const [killed, last] = [attempts[attempt - 1], attempts.at(-1)];
      expect(killed).toMatchObject({ status: 'lost', reasonCode: 'WORKER_LOST' });
      expect(last).toMatchObject({ status: 'succeeded', reasonCode: 'SUCCEEDED' });
      expect(last?.workerId).not.toBe(killed?.workerId);
      const charged = 'headgate.run where id = $1 and failures_lease_lost = attempt_no - 1';
      expect(await cluster.ask.count(charged, runId)).toBe(1);
      await expectOnePushEach(cluster, [runId]);
      const { report } = await cluster.check({ mustHold: ['INV-LE1', 'INV-LE2', 'INV-LE6', 'INV-ST1'] });
      expect(report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
