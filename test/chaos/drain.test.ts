/** SIGTERM: a worker takes nothing more, finishes what it can in its grace, and hands back the rest uncharged. */
import { type Cluster, startCluster } from '@headgate/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

describe('a worker that is asked to stop', () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ services: { worker: 0 } });
  }, CLUSTER_TEST_MS);

  it(
    'Q24: it finishes what ends within its grace, and ends with 0',
    async () => {
      const worker = await cluster.add('worker', { options: { worker: { graceMs: PATIENCE_MS } } });
      const runId = await cluster.sendForRun('gated-1');
      await cluster.gates.agentBegins(runId, PATIENCE_MS);
      const ended = worker.terminate();
      await cluster.signals.next('worker.state', ({ detail }) => detail['state'] === 'DRAINING', PATIENCE_MS);
      const later = await cluster.sendForRun('quick-1');
      cluster.gates.openAgents(runId);
      expect(await ended).toEqual({ code: 0, signal: null });
      const run = await cluster.waitForRun(runId, 'SUCCEEDED', PATIENCE_MS);
      expect(run.attemptNo).toBe(1);
      // It took nothing after the signal.
      expect(await cluster.ask.attempts(later)).toEqual([]);
      await cluster.cancel(later);
      await expectOnePushEach(cluster, [runId]);
    },
    CLUSTER_TEST_MS,
  );

  it(
    'Q24: what does not end in its grace is handed back as WORKER_DRAINED, uncharged, and another finishes it',
    async () => {
      const hasty = await cluster.add('worker', { options: { worker: { graceMs: 200 } } });
      const runId = await cluster.sendForRun('gated-2');
      await cluster.gates.agentBegins(runId, PATIENCE_MS);
      expect(await hasty.terminate()).toEqual({ code: 0, signal: null });
      expect(await cluster.ask.run(runId)).toMatchObject({ status: 'QUEUED', reasonCode: 'WORKER_DRAINED' });
      cluster.gates.openAgents(runId);
      await cluster.add('worker');
      await cluster.waitForRun(runId, 'SUCCEEDED', PATIENCE_MS);
      const attempts = await cluster.ask.attempts(runId);
      expect(attempts.map(({ status, reasonCode }) => [status, reasonCode])).toEqual([
        ['released', 'WORKER_DRAINED'],
        ['succeeded', 'SUCCEEDED'],
      ]);
      const charged = await cluster.ask.count(
        'headgate.run where id = $1 and failures_application + failures_infrastructure + failures_lease_lost > 0',
        runId,
      );
      expect(charged).toBe(0);
      await expectOnePushEach(cluster, [runId]);
    },
    CLUSTER_TEST_MS,
  );

  it('INV-ST6, INV-EF1: the history of both holds', async () => {
    await cluster.settle(PATIENCE_MS);
    expect((await cluster.check()).report.findings).toEqual([]);
  });
});
