/** A worker is cut off from Postgres, alone and for longer than its leases last; everybody else is not. */
import { eventually, faultProxy, SHORT_LEASE, startCluster } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

describe('a worker whose connection to Postgres stands still', () => {
  it(
    'Q34, INV-LE5: it stops what it does by its own clock, another takes over, and healed it works again',
    async () => {
      const cluster = await startCluster({ services: { worker: 0 }, lease: SHORT_LEASE });
      const { serviceUrl } = cluster.postgres.urls;
      const { hostname, port } = new URL(serviceUrl);
      const proxy = await faultProxy({ host: hostname, port: Number(port) });
      const cutOff = await cluster.add('worker', {
        env: { DATABASE_URL_SERVICE: proxy.through(serviceUrl) },
      });
      const runId = await cluster.sendForRun('gated-1');
      const first = await cluster.gates.agentBegins(runId, PATIENCE_MS);
      proxy.blackhole();

      const whole = await cluster.add('worker');
      await cluster.gates.agentBegins(runId, PATIENCE_MS, first);
      // It has nobody to ask, and lets go all the same: before anything is healed.
      await eventually(
        () =>
          cluster.signals
            .all()
            .some(({ name, pid }) => name === 'worker.dropped' && pid === cutOff.process.pid),
        { what: 'the worker that is cut off drops what it held', deadlineMs: PATIENCE_MS },
      );
      cluster.gates.openAgents();
      await cluster.waitForRun(runId, 'SUCCEEDED', PATIENCE_MS);
      const attempts = await cluster.ask.attempts(runId);
      expect(attempts[first - 1]).toMatchObject({ status: 'lost', reasonCode: 'WORKER_LOST' });
      expect(attempts.at(-1)?.status).toBe('succeeded');
      expect(cutOff.isRunning).toBe(true);

      proxy.heal();
      await whole.terminate();
      const next = await cluster.sendForRun('quick-1');
      await cluster.waitForRun(next, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      await expectOnePushEach(cluster, [runId, next]);
      const { report } = await cluster.check({ mustHold: ['INV-LE1', 'INV-LE2', 'INV-LE5', 'INV-LE6'] });
      expect(report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
