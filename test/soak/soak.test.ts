/**
 * A cluster under random load and random faults for HEADGATE_SOAK_MINUTES (10): `npm run soak`. In the end every fault
 * is healed, everything comes to rest without a person (INV-LV1), and the history is judged by every invariant.
 *
 * The seed is printed; HEADGATE_SEED takes it again. It repeats what is sent and struck in which order, not the
 * machine's timing.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, describeWithTool, SHORT_LEASE, startCluster } from '@headgate/testkit';
import { expect, it } from 'vitest';
import { expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';
import { type Seeded, seeded } from '../harness/seeded.js';
import { FAULTS } from './faults.js';
import { Load } from './load.js';

const MINUTE_MS = 60_000;
const START_AND_REST_MS = 10 * MINUTE_MS;
const minutes = Number(process.env['HEADGATE_SOAK_MINUTES'] ?? '10');
if (!(minutes > 0)) throw new Error('HEADGATE_SOAK_MINUTES must be a number of minutes above 0');

/** Strikes until the time is over. Every fault at least once if there is time: in random order, then at random. */
async function strike(cluster: Cluster, chance: Seeded, untilMs: number): Promise<Map<string, number>> {
  const struck = new Map<string, number>();
  const names = Object.keys(FAULTS);
  while (performance.now() < untilMs) {
    await pause(500 + chance.below(2_500));
    const fresh = names.filter((name) => !struck.has(name));
    const name = chance.pick(fresh.length > 0 ? fresh : names);
    struck.set(name, (struck.get(name) ?? 0) + 1);
    console.info(`${name}: ${await FAULTS[name]?.(cluster, chance)}`);
  }
  return struck;
}

describeWithTool('redis', 'soak', () => {
  it(
    `INV-LV1: ${minutes} minute(s) of random load and faults break no invariant, and everything comes to rest`,
    async () => {
      const forLoad = seeded();
      const forFaults = seeded(forLoad.seed + 1);
      console.info(`seed ${forLoad.seed}: HEADGATE_SEED=${forLoad.seed} repeats it`);
      const cluster = await startCluster({
        postgres: 'private',
        redis: 'private',
        lease: SHORT_LEASE,
        services: { worker: 3 },
        // Lost as often as it takes: what is struck again and again is no poison.
        route: { retry: { maxAttempts: 2, maxInfrastructure: 1_000, maxLeaseLost: 1_000, backoffMs: [200] } },
      });
      cluster.sample();
      const load = new Load(cluster, forLoad);
      const struck = await strike(cluster, forFaults, performance.now() + minutes * MINUTE_MS);
      await load.end();
      await cluster.settle(PATIENCE_MS * 2);
      console.info(`${load.acknowledged.size} runs; ${JSON.stringify(Object.fromEntries(struck))}`);

      expect(load.unexpected).toEqual([]);
      const runs = await cluster.ask.runs();
      expect(runs.map((run) => run.id).sort()).toEqual([...load.acknowledged.keys()].sort());
      const strayed = runs.filter(({ route, status }) =>
        route === 'failing'
          ? !['FAILED', 'CANCELLED'].includes(status)
          : !['SUCCEEDED', 'CANCELLED'].includes(status),
      );
      expect(strayed).toEqual([]);
      const succeeded = runs.filter((run) => run.status === 'SUCCEEDED').map((run) => run.id);
      expect(succeeded.length).toBeGreaterThan(0);
      await expectOnePushEach(cluster, succeeded);
      // Runs wait for slots, for Postgres, for frozen workers: the bounds that are about latency get slack.
      const { report } = await cluster.check({
        mustHold: ['INV-IN1', 'INV-IN4', 'INV-ST1', 'INV-ST4', 'INV-ST5'],
        settings: { slackMs: PATIENCE_MS },
      });
      expect(report.findings).toEqual([]);
    },
    minutes * MINUTE_MS + START_AND_REST_MS,
  );
});
