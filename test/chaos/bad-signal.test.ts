import { startCluster } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, PATIENCE_MS } from '../harness/outcomes.js';

const SIGNALS = 200;

describe('one signal that cannot be stored, among many', () => {
  it(
    'I14: it gets a receipt of its own, MALFORMED, and the 199 that came with it are answered as if it were not there',
    async () => {
      // The first transaction is held for a moment, so that the others come together.
      const cluster = await startCluster({
        layout: 'one',
        services: { worker: 0 },
        failPoints: 'intake.batch.before=delay:1000@1',
      });
      // Routes take this kind of event, and none takes a check of this name.
      const checkOf = (n: number): string => (n === 100 ? 'quick-\u0000' : `unrouted-${n}`);
      const headSha = await cluster.head();
      const replies = await Promise.all(
        Array.from({ length: SIGNALS }, (_, n) =>
          cluster.send({ check: checkOf(n), headSha, guid: `guid-${n}` }),
        ),
      );
      const bad = replies[100];
      const others = replies.filter((_, n) => n !== 100);
      expect(bad?.reasonCode).toBe('MALFORMED');
      expect(bad?.receiptId).not.toBeNull();
      expect([...new Set(others.map(({ httpStatus, reasonCode }) => `${httpStatus} ${reasonCode}`))]).toEqual(
        ['202 NOT_ELIGIBLE'],
      );
      const receiptIds = replies.map((reply) => reply.receiptId);
      expect(new Set(receiptIds).size).toBe(SIGNALS);
      expect(await cluster.ask.count('headgate.receipt where id = any ($1)', receiptIds)).toBe(SIGNALS);
      expect(await cluster.ask.count('headgate.run')).toBe(0);
      await cluster.settle(PATIENCE_MS);
      expect((await cluster.check()).report.findings).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
