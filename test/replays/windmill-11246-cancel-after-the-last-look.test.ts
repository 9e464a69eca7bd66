/** windmill PR 11246, river #1358: a cancel lands after the worker's last look, and nothing can tell the worker. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startCluster } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, PATIENCE_MS } from '../harness/outcomes.js';

describe('replay: windmill PR 11246, river #1358', () => {
  it.each([
    { route: 'quick', why: 'succeeded', pushes: 1 },
    { route: 'failing', why: 'failed, and would be tried again', pushes: 0 },
  ])(
    'Q5: without a push channel, a run that has just $why ends CANCELLED, with no follow-up',
    async ({ route, pushes }) => {
      const cluster = await startCluster({ redis: 'none', services: { worker: 0 } });
      const release = join(cluster.folder, 'release');
      await cluster.add('worker', { failPoints: `worker.finish.before=hold:${release}` });
      const runId = await cluster.sendForRun(`${route}-1`);
      await cluster.failPointReached('worker.finish.before', undefined, PATIENCE_MS);
      expect(await cluster.cancel(runId)).toMatchObject({ result: 'requested' });
      writeFileSync(release, '');
      await cluster.waitForRun(runId, 'CANCELLED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      const attempts = await cluster.ask.attempts(runId);
      expect(attempts.map(({ status }) => status)).toEqual(['cancelled']);
      expect(await cluster.ask.count('headgate.queue_item')).toBe(0);
      expect(await cluster.ask.count('headgate.run')).toBe(1);
      // What was pushed before the cancel is kept, and shown as what it is.
      expect(await cluster.pushes()).toHaveLength(pushes);
      expect((await cluster.check({ mustHold: ['INV-ST1'] })).report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
