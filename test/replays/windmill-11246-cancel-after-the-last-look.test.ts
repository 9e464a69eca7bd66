/** windmill PR 11246, river #1358: a cancel lands after the worker's last look, and nothing can tell the worker. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cluster, startCluster } from '@headgate/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, PATIENCE_MS } from '../harness/outcomes.js';

describe('replay: windmill PR 11246, river #1358', () => {
  let cluster: Cluster;
  const release = (story: number): string => join(cluster.folder, `release-${story}`);

  beforeAll(async () => {
    cluster = await startCluster({ redis: 'none', services: { worker: 0 } });
    const hold = (story: number): string => `worker.finish.before=hold:${release(story)}@${story}`;
    await cluster.add('worker', { failPoints: `${hold(1)};${hold(2)}` });
  }, CLUSTER_TEST_MS);

  it.each([
    { story: 1, route: 'quick', why: 'succeeded', pushes: 1 },
    { story: 2, route: 'failing', why: 'failed, and would be tried again', pushes: 0 },
  ])(
    'Q5: without a push channel, a run that has just $why ends CANCELLED, with no follow-up',
    async ({ story, route, pushes }) => {
      const runId = await cluster.sendForRun(`${route}-1`);
      await cluster.signals.next('failpoint.reached', ({ detail }) => detail['pass'] === story, PATIENCE_MS);
      expect(await cluster.cancel(runId)).toMatchObject({ result: 'requested' });
      writeFileSync(release(story), '');
      await cluster.waitForRun(runId, 'CANCELLED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      const attempts = await cluster.ask.attempts(runId);
      expect(attempts.map(({ status }) => status)).toEqual(['cancelled']);
      expect(await cluster.ask.count('headgate.queue_item')).toBe(0);
      expect(await cluster.ask.count('headgate.run')).toBe(story);
      // What was pushed before the cancel is kept, and shown as what it is.
      expect((await cluster.pushes()).filter((push) => push.runId === runId)).toHaveLength(pushes);
      expect((await cluster.check({ mustHold: ['INV-ST1'] })).report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
