import { formatId, type RunId, systemIds } from '@headgate/domain';
import { describeWithTool, type ForeignJob, startCluster } from '@headgate/testkit';
import { expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

const DAY_MS = 24 * 3_600_000;

describeWithTool('redis', 'messages that nobody of ours sent, or sent so', () => {
  it(
    'Q34, INV-HI2: doubled, shuffled, invented and ancient hints cause no work that Postgres does not show',
    async () => {
      const cluster = await startCluster({ layout: 'control', services: { worker: 2 } });
      const runIds = await cluster.sendForRuns('quick', 6);
      const hint = (runId: RunId, dispatchNo: number, suffix = ''): ForeignJob => ({
        id: `${formatId('run', runId)}-${dispatchNo}${suffix}`,
        data: { runId: formatId('run', runId), dispatchNo },
      });
      // The same dispatches again, beside numbers that came before or never will.
      const doubled = runIds.flatMap((runId) => [
        hint(runId, 1),
        hint(runId, 2),
        hint(runId, 1),
        hint(runId, 99),
      ]);
      const invented = Array.from({ length: 20 }, () => hint(systemIds.next('run'), 1));
      const ancient = runIds.map((runId) => ({ ...hint(runId, 7), publishedAtMs: Date.now() - 2 * DAY_MS }));
      const nonsense: ForeignJob[] = [
        { id: 'nobody', data: {} },
        { id: 'other', name: 'other', data: { runId: 'run_x', dispatchNo: 1 } },
        { id: 'huge', data: { runId: 'run_x', dispatchNo: 1e300, text: 'x'.repeat(100_000) } },
        hint(runIds[0] as RunId, 1, '-forged'),
      ];
      const shuffled = [...doubled, ...invented, ...ancient, ...nonsense].sort((a, b) =>
        a.id < b.id ? 1 : -1,
      );
      await cluster.inject(shuffled);
      await cluster.waitForRuns(runIds, 'SUCCEEDED', PATIENCE_MS);
      // Once more for runs that have ended.
      await cluster.inject(runIds.flatMap((runId) => [hint(runId, 1), hint(runId, 2)]));
      const stale = (signal: { readonly name: string; readonly detail: Readonly<Record<string, unknown>> }) =>
        signal.name === 'worker.hints.stale' &&
        (signal.detail['runIds'] as string[]).includes(runIds[0] as string);
      await cluster.signals.next('worker.hints.stale', stale, PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      await expectOnePushEach(cluster, runIds);
      for (const runId of runIds) expect(await cluster.ask.attempts(runId)).toHaveLength(1);
      const { report } = await cluster.check({ mustHold: ['INV-HI2'] });
      expect(report.findings).toEqual([]);
      expect(await cluster.ask.count('headgate.run')).toBe(runIds.length);
    },
    CLUSTER_TEST_MS,
  );
});
