/** cyrus #1450: the same delivery again after 1 s, 1 min and 1 h, while the first one's run still works. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { startCluster } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

const LATER = ['1 second', '1 minute', '1 hour'];

describe('replay: cyrus #1450', () => {
  it(
    'I8: one run and one workspace, and each repetition has a receipt that names them',
    async () => {
      const cluster = await startCluster({ layout: 'one', services: { worker: 1 } });
      const delivery = { check: 'gated-1', guid: 'the-delivery' };
      const first = await cluster.send(delivery);
      if (first.runId === null) throw new Error('no run was named');
      await cluster.gates.agentBegins(first.runId, PATIENCE_MS);
      for (const age of LATER) {
        // What the database remembers of the delivery is moved into the past instead of waiting.
        await cluster.pool.query('update headgate.delivery set expires_at = expires_at - $1::interval', [
          age,
        ]);
        const again = await cluster.send(delivery);
        expect(again).toMatchObject({ reasonCode: 'DUPLICATE_DELIVERY', existing: true, runId: first.runId });
        const other = await cluster.send({ ...delivery, guid: `redelivered-after-${age.replace(' ', '-')}` });
        expect(other).toMatchObject({ reasonCode: 'DUPLICATE_WORK', existing: true, runId: first.runId });
      }
      const workspaces = readdirSync(join(cluster.folder, 'data', 'workspaces'), {
        recursive: true,
        withFileTypes: true,
      })
        .filter((entry) => entry.isFile() && entry.name === 'run.json')
        .map((entry) => entry.parentPath);
      expect(workspaces).toHaveLength(1);
      cluster.gates.openAgents();
      await cluster.waitForRun(first.runId, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      expect(await cluster.ask.count('headgate.run')).toBe(1);
      expect(await cluster.ask.count("headgate.receipt where kind = 'decision'")).toBe(1 + 2 * LATER.length);
      await expectOnePushEach(cluster, [first.runId]);
      expect((await cluster.check({ mustHold: ['INV-IN2'] })).report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
