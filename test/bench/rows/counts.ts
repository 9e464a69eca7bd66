/** What one run and one beat cost, in counts: the same as CI holds (test/counts), here with full page images on. */
import { walBytes } from '@headgate/testkit/measure';
import { lineOver, someWork } from '../../world/line.js';
import { openInstance } from '../harness/instance.js';
import type { Bench, Part } from '../harness/row.js';

const BATCH = 200;
const ROUNDS = 5;

export const counts: Part = {
  name: 'counts',
  run: async ({ place, effort }: Bench) => {
    const instance = await openInstance(place, 'counts');
    const line = await lineOver(instance.db);
    const perOne = async (work: (round: number) => Promise<unknown>): Promise<number> =>
      (await walBytes(instance.urls.ownerUrl, async () => {
        for (let round = 0; round < ROUNDS; round += 1) await work(round);
      })) /
      (ROUNDS * BATCH);
    const lives: number[] = [];
    const beats: number[] = [];
    try {
      for (let round = 0; round < effort.rounds; round += 1) {
        const from = round * 100_000;
        const signal = await perOne((n) => line.submit(someWork(BATCH, from + n * BATCH)));
        const run = await perOne(async () => {
          const runs = await line.claim(await line.dispatch(BATCH));
          await line.start(runs);
          await line.finish(runs);
        });
        lives.push((signal + run) / 1024);
        await line.submit(someWork(BATCH, from + 50_000));
        const held = await line.claim(await line.dispatch(BATCH));
        // The first beat after a checkpoint logs whole pages: that is the checkpoint's cost, once.
        await line.beat(held);
        beats.push(await perOne(() => line.beat(held)));
        await line.finish(held);
      }
    } finally {
      await instance.close();
    }
    return [
      {
        name: 'log of a run’s whole life, signal to closing receipt, without payload',
        unit: 'KB',
        ours: lives,
        against: null,
        target: { kind: 'at-most', value: 5 },
      },
      {
        name: 'log of one lease at each beat (one statement for all leases of a worker)',
        unit: 'bytes',
        ours: beats,
        against: null,
        target: { kind: 'at-most', value: 150 },
      },
    ];
  },
};
