import { type Cluster, startCluster } from '@headgate/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

const COPIES = 20;

describe('drill: a delivery comes many times', () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({
      layout: 'one',
      services: { intake: 2, worker: 1 },
      // The first transaction waits a moment, so that the copies meet in the next batch.
      failPoints: 'intake.batch.before=delay:300@1',
    });
  }, CLUSTER_TEST_MS);

  it(
    'I18: at once, in one batch, at two intakes, later and after the end: one run, one branch, a receipt for each',
    async () => {
      const delivery = { check: 'gated-1', headSha: await cluster.head(), guid: 'the-only-delivery' };
      const intakes = [cluster.member('intake', 0), cluster.member('intake', 1)];
      const atOnce = await Promise.all(
        Array.from({ length: COPIES }, (_, n) => cluster.send(delivery, intakes[n % intakes.length])),
      );
      const [runId, ...others] = new Set(atOnce.map((reply) => reply.runId));
      expect(others).toEqual([]);
      if (runId == null) throw new Error('no run was named');
      await cluster.gates.agentBegins(runId, PATIENCE_MS);
      const later = await cluster.send(delivery);
      cluster.gates.openAgents();
      await cluster.waitForRun(runId, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      const afterwards = await cluster.send(delivery);
      const replies = [...atOnce, later, afterwards];

      expect(replies.map((reply) => reply.httpStatus)).toEqual(replies.map(() => 202));
      expect(replies.filter((reply) => reply.outcome === 'accept')).toHaveLength(1);
      const repeated = replies.filter((reply) => reply.outcome !== 'accept');
      expect([
        ...new Set(repeated.map((reply) => `${reply.outcome} ${reply.reasonCode} ${reply.existing}`)),
      ]).toEqual(['reject DUPLICATE_DELIVERY true']);
      expect(new Set(replies.map((reply) => reply.runId)).size).toBe(1);
      expect(new Set(replies.map((reply) => reply.receiptId)).size).toBe(COPIES + 2);
      expect(await cluster.ask.count("headgate.receipt where kind = 'decision'")).toBe(COPIES + 2);
      expect(await cluster.ask.count('headgate.run')).toBe(1);
      expect(await cluster.ask.count('headgate.delivery')).toBe(1);
      await expectOnePushEach(cluster, [runId]);
    },
    CLUSTER_TEST_MS,
  );

  it(
    'I5: the same work asked for by other deliveries names the run there is, and makes none',
    async () => {
      const first = await cluster.send({ check: 'quick-1' });
      const again = await Promise.all(Array.from({ length: 5 }, () => cluster.send({ check: 'quick-1' })));
      expect(first).toMatchObject({ outcome: 'accept', reasonCode: 'ADMITTED', existing: false });
      for (const reply of again) {
        expect(reply).toMatchObject({ outcome: 'reject', reasonCode: 'DUPLICATE_WORK', existing: true });
        expect(reply.runId).toBe(first.runId);
      }
      await cluster.waitForRun(first.runId ?? '', 'SUCCEEDED', PATIENCE_MS);
      expect(await cluster.ask.count('headgate.run')).toBe(2);
    },
    CLUSTER_TEST_MS,
  );

  it(
    'INV-IN2, INV-IN4: every answer for one version names the one run, which descends from one receipt',
    async () => {
      await cluster.settle(PATIENCE_MS);
      const { report } = await cluster.check({ mustHold: ['INV-IN2', 'INV-IN4'] });
      expect(report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
