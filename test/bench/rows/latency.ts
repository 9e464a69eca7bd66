/** From a signed webhook to the start of its attempt, in an idle system; against adding a job and starting its task. */
import { setTimeout as delay } from 'node:timers/promises';
import { senderTo } from '../harness/delivery.js';
import { openInstance } from '../harness/instance.js';
import { Child } from '../harness/processes.js';
import { interleaved, median } from '../harness/rounds.js';
import type { Bench, Part } from '../harness/row.js';

const BETWEEN_MS = 60;
/** Before anything is measured, one after the other: an idle system is one that has run for a while. */
const WARM_UP = 500;

export const latency: Part = {
  name: 'latency',
  run: async (bench) => {
    const { place, peers, effort } = bench;
    const instance = await openInstance(place, 'latency');
    try {
      const { url } = await instance.service('intake');
      await instance.service('scheduler');
      const { child } = await instance.service('worker', { BENCH_TELL: '1' });
      const sender = senderTo(url, 'latency');
      const one = async (pauseMs: number): Promise<number> => {
        await delay(pauseMs);
        const started = nextStart(child);
        const delivery = sender.next();
        const sentMs = performance.timeOrigin + performance.now();
        await delivery.send();
        return (await started) - sentMs;
      };
      for (let n = 0; n < WARM_UP; n += 1) await one(0);
      const measured = await interleaved(effort.rounds, {
        ours: async () => {
          const waits: number[] = [];
          for (let n = 0; n < effort.latencySamples; n += 1) waits.push(await one(BETWEEN_MS));
          return median(waits);
        },
        graphile: (round) => graphile(bench, round),
      });
      const [share] = await instance.rows<{ receipt: number; claim: number }>(
        `select percentile_cont(0.5) within group (order by extract(epoch from x.created_at - x.received_at)) * 1000 as receipt,
                percentile_cont(0.5) within group (order by extract(epoch from r.started_at - r.created_at)) * 1000 as claim
           from headgate.run r join headgate.receipt x on x.id = r.receipt_id`,
      );
      bench.say(
        `  of it: ${share?.receipt.toFixed(1)} ms to the receipt, ${share?.claim.toFixed(1)} ms from there to the claim`,
      );
      return [
        {
          name: 'webhook received to attempt started, idle system, p50',
          unit: 'ms',
          ours: measured.ours,
          against: { name: 'graphile-worker, addJob to start of its task', values: measured.graphile },
          target: { kind: 'at-most', value: 1 },
        },
      ];
    } finally {
      await instance.close();
    }

    async function graphile({ place: where }: Bench, round: number): Promise<number> {
      const url = await where.emptyDatabase(`graphile_latency_${round}`);
      const counts = [String(effort.latencySamples), String(WARM_UP)];
      const args = [`${peers.folder}/graphile-latency.mjs`, url, ...counts];
      return new Child(peers.node, args, {}).said('how long it took', (line) =>
        typeof line['p50'] === 'number' ? line['p50'] : undefined,
      );
    }
  },
};

/** When the next attempt begins, by the worker's clock, which is this machine's. */
function nextStart(worker: Child): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(worker.fault('started nothing')), 20_000);
    const stop = worker.on((line) => {
      if (typeof line['startedMs'] !== 'number') return;
      clearTimeout(timer);
      stop();
      resolve(line['startedMs']);
    });
  });
}
