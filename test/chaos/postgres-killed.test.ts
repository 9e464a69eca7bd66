/** A power cut of Postgres under load: what was acknowledged stands, what was not may be sent again. */
import { eventually, startCluster, testDepth } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

const RUNS = testDepth() === 'normal' ? 24 : 200;
const CUTS = testDepth() === 'normal' ? 1 : 5;

describe('Postgres killed and started again', () => {
  it(
    'INV-IN1: every acknowledged receipt is there afterwards, and every run is finished once',
    async () => {
      const cluster = await startCluster({ postgres: 'private', services: { worker: 1 } });
      const server = cluster.postgres.server;
      if (server === null) throw new Error('the Postgres of this cluster is private');
      cluster.sample();
      const checks = Array.from({ length: RUNS }, (_, n) => `quick-${n + 1}`);
      const acknowledged = new Map<string, string>();
      // As GitHub does for a failed delivery: the same GUID again, until it is taken.
      const refusals = new Set<number | null>();
      const headSha = await cluster.head();
      const deliver = (check: string): Promise<unknown> =>
        eventually(
          async () => {
            const reply = await cluster.send({ check, headSha, guid: `guid-${check}` });
            const isTaken = reply.httpStatus === 202 && reply.runId !== null;
            if (isTaken) acknowledged.set(check, reply.runId);
            else refusals.add(reply.httpStatus);
            return isTaken;
          },
          { what: `${check} is acknowledged`, deadlineMs: PATIENCE_MS, everyMs: 50 },
        );
      // Some are acknowledged before the first cut, the others come while it lasts.
      const early = Promise.all(checks.slice(0, RUNS / 4).map(deliver));
      let sending: Promise<unknown> = early;
      for (let cut = 0; cut < CUTS; cut += 1) {
        await cluster.signals.next('intake.answered', undefined, PATIENCE_MS);
        await server.kill9();
        if (cut === 0) sending = Promise.all([early, ...checks.slice(RUNS / 4).map(deliver)]);
        await server.restart();
      }
      await sending;
      // Said so that the sender tries again, or not said at all.
      expect([...refusals].filter((status) => status !== 503 && status !== null)).toEqual([]);
      expect([...acknowledged.keys()].sort()).toEqual([...checks].sort());
      const runIds = [...acknowledged.values()];
      await cluster.waitForRuns(runIds, 'SUCCEEDED', PATIENCE_MS);
      await cluster.settle(PATIENCE_MS);
      expect(new Set(runIds).size).toBe(RUNS);
      await expectOnePushEach(cluster, runIds);
      const { report, input } = await cluster.check({ settings: { slackMs: PATIENCE_MS } });
      expect(report.findings).toEqual([]);
      expect(report.witnessed['INV-IN1']?.counts['acknowledged']).toBeGreaterThan(0);
      expect(input.runs).toHaveLength(RUNS);
    },
    CLUSTER_TEST_MS,
  );
});
