import { readdirSync, readFileSync } from 'node:fs';
import { type Cluster, eventually, startCluster } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, PATIENCE_MS } from '../harness/outcomes.js';

/** Processes of this cluster's agents, found by the environment that only they have. */
function agentProcesses(cluster: Cluster): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`GATES=${cluster.gates.folder}`);
      } catch {
        // It has ended meanwhile.
        return false;
      }
    });
}

describe.skipIf(process.platform !== 'linux')('drill 3: a cancel while the agent works', () => {
  it(
    'Q33.3: the agent is stopped with all it started, the run ends CANCELLED, nothing is pushed and nothing retried',
    async () => {
      const cluster = await startCluster({ layout: 'one', services: { worker: 1 } });
      const runId = await cluster.sendForRun('gated-1');
      await cluster.gates.agentBegins(runId, PATIENCE_MS);
      await eventually(() => agentProcesses(cluster).length > 0, {
        what: 'an agent',
        deadlineMs: PATIENCE_MS,
      });
      const stopped = await cluster.cancel(runId);
      expect(stopped).toMatchObject({ result: 'requested', status: 'CANCEL_REQUESTED' });
      const run = await cluster.waitForRun(runId, 'CANCELLED', PATIENCE_MS);
      expect(run.reasonCode).toBe('CANCELLED_BY_USER');
      // The slot was held until the agent was known to have stopped.
      expect(agentProcesses(cluster)).toEqual([]);
      await cluster.settle(PATIENCE_MS);
      const attempts = await cluster.ask.attempts(runId);
      expect(attempts.map(({ status }) => status)).toEqual(['cancelled']);
      expect(await cluster.pushes()).toEqual([]);
      expect(await cluster.ask.count('headgate.operation')).toBe(0);
      // Its version stays refused; the worker has its slot again for other work.
      const next = await cluster.sendForRun('quick-1');
      await cluster.waitForRun(next, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      expect((await cluster.check()).report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
