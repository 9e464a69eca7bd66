import { HISTORY_OPS } from '@headgate/telemetry';
import { SHORT_LEASE, startCluster } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { attemptBehind, CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

describe('drill: a worker dies between the external write and its checkpoint', () => {
  it(
    'I18: the next attempt reads what the forge shows, confirms it, and pushes nothing again',
    async () => {
      const cluster = await startCluster({ services: { worker: 0 }, lease: SHORT_LEASE });
      const doomed = await cluster.add('worker', { failPoints: 'effects.called=kill' });
      const runId = await cluster.sendForRun('quick-1');
      await doomed.process.exited;
      expect(await cluster.pushes()).toHaveLength(1);
      const [operation] = (
        await cluster.pool.query<{ state: string; key: string }>('select state, key from headgate.operation')
      ).rows;
      expect(operation?.state).toBe('attempted');

      await cluster.add('worker');
      await cluster.waitForRun(runId, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      await expectOnePushEach(cluster, [runId]);
      const attempts = await cluster.ask.attempts(runId);
      const killed = attempts.findLast(({ status }) => status === 'lost');
      // Sealed by the one that died or before it; nothing was made again afterwards.
      expect(cluster.gates.begun(runId).some((number) => number > (killed?.number ?? 0))).toBe(false);
      expect(await attemptBehind(cluster, runId)).toBeLessThanOrEqual(killed?.number ?? 0);
      expect(attempts.at(-1)?.status).toBe('succeeded');
      const { report, input } = await cluster.check({ mustHold: ['INV-LE2'] });
      expect(report.findings).toEqual([]);
      const calls = input.history.filter(
        ({ op, type }) => op === HISTORY_OPS.effectCall && type === 'invoke',
      );
      expect(calls).toHaveLength(1);
      const reads = input.history.filter(({ op, type }) => op === HISTORY_OPS.effectRead && type === 'ok');
      expect(reads.map(({ result }) => (result as { kind: string }).kind)).toEqual(['ours']);
    },
    CLUSTER_TEST_MS,
  );
});
