import { startCluster } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';

describe('smoke', () => {
  it('runs', async () => {
    const t0 = performance.now();
    const cluster = await startCluster({ services: { reconciler: 0, worker: 1 } });
    console.log('started', performance.now() - t0);
    const runId = await cluster.sendForRun('quick-1');
    console.log('sent', performance.now() - t0);
    await cluster.waitForRun(runId, 'SUCCEEDED', 20_000);
    console.log('done', performance.now() - t0);
    const ids = await cluster.sendForRuns('quick', 20, 10);
    await cluster.waitForRuns(ids, 'SUCCEEDED');
    console.log('20 more', performance.now() - t0);
    await cluster.settle();
    console.log(await cluster.pushes());
    const { report } = await cluster.check();
    console.log(JSON.stringify(report.witnessed));
    expect(report.findings).toEqual([]);
  }, 60_000);
});
