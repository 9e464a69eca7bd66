/**
 * Two of everything under load: intakes with their tickers, schedulers, workers, reconcilers. Claims race cancels,
 * reapers race finishes, tickers race each other; nobody waits for ever, and every invariant holds.
 */
import type { RunId } from '@headgate/domain';
import { startCluster, testDepth } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';
import { seeded } from '../harness/seeded.js';

const RUNS = testDepth() === 'normal' ? 36 : 240;
const WAVE = 12;

describe('two of everything', () => {
  it(
    'INV-ST1, INV-ST2, INV-ST5, INV-LE8, INV-SC1: random cancels under load leave no deadlock and break nothing',
    async () => {
      const chance = seeded();
      console.info(`seed ${chance.seed}: HEADGATE_SEED=${chance.seed} repeats it`);
      const cluster = await startCluster({
        // A Postgres of its own tells what a deadlock was about.
        postgres: 'private',
        services: { intake: 2, scheduler: 2, reconciler: 2, worker: 2 },
        slots: 3,
        ticking: true,
      });
      cluster.sample();
      const headSha = await cluster.head();
      const [first, second] = [cluster.member('intake', 0), cluster.member('intake', 1)];
      const cancelled: RunId[] = [];
      const runIds: RunId[] = [];
      for (let sent = 0; sent < RUNS; sent += WAVE) {
        const wave = await Promise.all(
          Array.from({ length: WAVE }, (_, n) => {
            const delivery = { check: `quick-${sent + n}`, headSha, guid: `guid-${sent + n}` };
            // Both intakes are handed the same delivery now and then, or another one about the same.
            const twice = n === 0 || chance.next() < 0.2;
            const again = n === 0 ? { ...delivery, guid: `${delivery.guid}-again` } : delivery;
            return Promise.all([
              cluster.send(delivery, chance.pick([first, second])),
              ...(twice ? [cluster.send(again, chance.pick([first, second]))] : []),
            ]);
          }),
        );
        const fresh = wave.flatMap((replies) => {
          const named = new Set(replies.map((reply) => reply.runId));
          expect(named.size).toBe(1);
          const [runId] = named;
          return runId == null ? [] : [runId];
        });
        expect(fresh).toHaveLength(WAVE);
        runIds.push(...fresh);
        const doomed = runIds.filter((runId) => !cancelled.includes(runId) && chance.next() < 0.12);
        await Promise.all(
          doomed.map(async (runId) => {
            // The same cancel by two people at once.
            const [one, other] = await Promise.all([cluster.cancel(runId), cluster.cancel(runId)]);
            expect(one?.result).not.toBe('unknown');
            if (one?.result !== 'terminal' || other?.result !== 'terminal') cancelled.push(runId);
          }),
        );
      }
      await cluster.settle(PATIENCE_MS);

      const runs = await cluster.ask.runs();
      const status = (runId: string) => runs.find((run) => run.id === runId)?.status;
      for (const runId of cancelled) expect(status(runId)).toBe('CANCELLED');
      const finished = runIds.filter((runId) => !cancelled.includes(runId));
      expect([...new Set(finished.map(status))]).toEqual(['SUCCEEDED']);
      await expectOnePushEach(cluster, finished);

      const ticks = await cluster.pool.query<{ n: number; distinct: number }>(
        `select count(*)::int as n, count(distinct event_id)::int as distinct
           from headgate.receipt where kind = 'decision' and trigger = 'schedule'`,
      );
      expect(ticks.rows[0]?.n).toBeGreaterThan(0);
      expect(ticks.rows[0]?.n).toBe(ticks.rows[0]?.distinct);

      const { report, input } = await cluster.check({
        mustHold: ['INV-ST1', 'INV-ST5', 'INV-IN4', 'INV-IN2'],
      });
      expect(report.findings).toEqual([]);
      expect(input.snapshots.length).toBeGreaterThan(3);
      expect(await cluster.ask.deadlocks(), cluster.postgres.log()).toBe(0);
      expect(cluster.faultsLogged()).toEqual([]);
    },
    CLUSTER_TEST_MS,
  );
});
