import { formatId } from '@headgate/domain';
import { describeWithTool, startCluster } from '@headgate/testkit';
import { expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

describeWithTool('redis', 'drill 2: a queue message comes twice', () => {
  it(
    'Q33.2: the second worker finds the run taken, and there is one attempt and one push',
    async () => {
      const cluster = await startCluster({ services: { worker: 2 } });
      const runId = await cluster.sendForRun('gated-1');
      await cluster.gates.agentBegins(runId, PATIENCE_MS);
      const hint = {
        id: `${formatId('run', runId)}-1`,
        data: { runId: formatId('run', runId), dispatchNo: 1 },
      };
      const isRefused = ({ detail }: { readonly detail: Readonly<Record<string, unknown>> }) =>
        (detail['runIds'] as readonly string[]).includes(runId);
      for (let again = 0; again < 3; again += 1) {
        await cluster.inject([hint]);
        await cluster.signals.next('worker.hints.stale', isRefused, PATIENCE_MS);
      }
      cluster.gates.openAgents();
      await cluster.waitForRun(runId, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      expect(await cluster.ask.attempts(runId)).toHaveLength(1);
      await expectOnePushEach(cluster, [runId]);
      const { report } = await cluster.check({ mustHold: ['INV-HI2'] });
      expect(report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
