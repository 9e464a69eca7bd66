/** trigger.dev #834, #3725: Redis stops right after the Postgres commit of new work. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeWithTool, startCluster } from '@headgate/testkit';
import { expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

describeWithTool('redis', 'replay: trigger.dev #834, #3725', () => {
  it(
    'I9: work committed just before Redis stopped is done all the same; a repeated delivery names it, on its own receipt',
    async () => {
      const cluster = await startCluster({
        redis: 'private',
        services: { worker: 1 },
        // Redis is stopped between the commit and all that follows it.
        failPoints: 'intake.batch.committed=hold:{folder}/redis-is-stopped@1',
      });
      const sending = cluster.send({ check: 'quick-1', guid: 'the-delivery' });
      await cluster.failPointReached('intake.batch.committed', undefined, PATIENCE_MS);
      await cluster.redis.server?.kill9();
      writeFileSync(join(cluster.folder, 'redis-is-stopped'), '');
      const first = await sending;
      expect(first).toMatchObject({
        httpStatus: 202,
        outcome: 'accept',
        reasonCode: 'ADMITTED',
        existing: false,
      });
      if (first.runId === null) throw new Error('no run was named');

      const second = await cluster.send({ check: 'quick-1', guid: 'the-delivery' });
      expect(second).toMatchObject({
        httpStatus: 202,
        outcome: 'reject',
        reasonCode: 'DUPLICATE_DELIVERY',
        existing: true,
        runId: first.runId,
      });
      expect(second.receiptId).not.toBe(first.receiptId);

      await cluster.waitForRun(first.runId, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      expect(await cluster.ask.count('headgate.run')).toBe(1);
      expect(await cluster.ask.count("headgate.receipt where kind = 'decision'")).toBe(2);
      await expectOnePushEach(cluster, [first.runId]);
      expect((await cluster.check({ mustHold: ['INV-IN4'] })).report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
