/**
 * Runs through their whole life: dispatch, verdict, claim, stages, finish; with scheduler and worker as processes. Each side
 * has drained some before: what is measured is work, not the start of a process.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Instance, openInstance } from '../harness/instance.js';
import { Child } from '../harness/processes.js';
import { interleaved } from '../harness/rounds.js';
import type { Bench, Part } from '../harness/row.js';
import { perSecondOf } from './intake.js';

const LOOK_AGAIN_MS = 20;
const DRAINED_WITHIN_MS = 120_000;

export const lifecycle: Part = {
  name: 'lifecycle',
  run: async (bench) => {
    const { effort } = bench;
    const measured = await interleaved(effort.rounds, {
      ours: (round) => drain(bench, `life_${round}`),
      graphile: (round) => graphileDrain(bench, 'default', round),
      batched: (round) => graphileDrain(bench, 'batched', round),
    });
    const name = 'runs through the whole lifecycle, no-op attempt, one worker with 100 slots';
    return [
      {
        name,
        unit: 'per second',
        ours: measured.ours,
        against: { name: 'graphile-worker, default drain of no-op jobs', values: measured.graphile },
        target: { kind: 'at-least', value: 3 },
      },
      {
        name: 'the same',
        unit: 'per second',
        ours: measured.ours,
        against: { name: 'graphile-worker, local queue and batched completion', values: measured.batched },
        target: { kind: 'at-least', value: 1 },
        note: 'a goal',
      },
    ];
  },
};

async function drain({ place, effort }: Bench, name: string): Promise<number> {
  const instance = await openInstance(place, name);
  try {
    await instance.service('scheduler');
    await instance.service('worker');
    await instance.admit(effort.warmUpRuns, 0);
    await drained(instance);
    // All of it waits before the first of it starts: nobody dispatches without this lock.
    const from = await instance.db.service.transaction(async (c) => {
      await c.query("select pg_advisory_xact_lock(hashtextextended('headgate.dispatch', 0))");
      const [now] = await c.query<{ at: Date }>('select clock_timestamp() as at');
      await instance.admit(effort.runs, effort.warmUpRuns);
      return now?.at;
    });
    await drained(instance);
    const [taken] = await instance.rows<{ seconds: number; runs: number }>(
      `select extract(epoch from max(finished_at) - min(started_at))::float8 as seconds, count(*)::int as runs
         from headgate.run where status = 'SUCCEEDED' and created_at > $1`,
      [from],
    );
    if (taken === undefined || taken.runs !== effort.runs) throw new Error('not all runs succeeded');
    return taken.runs / taken.seconds;
  } finally {
    await instance.close();
  }
}

async function drained(instance: Instance): Promise<void> {
  const untilMs = performance.now() + DRAINED_WITHIN_MS;
  for (;;) {
    const [left] = await instance.rows<{ isAny: boolean }>(
      'select exists (select from headgate.queue_item) or exists (select from headgate.lease) as "isAny"',
    );
    if (left?.isAny === false) return;
    if (performance.now() > untilMs) throw new Error('the runs were not done in time');
    await delay(LOOK_AGAIN_MS);
  }
}

async function graphileDrain(
  { place, peers, effort }: Bench,
  mode: 'default' | 'batched',
  round: number,
): Promise<number> {
  const url = await place.emptyDatabase(`graphile_${mode}_${round}`);
  const counts = [String(effort.runs), String(effort.warmUpRuns)];
  const args = [`${peers.folder}/graphile-drain.mjs`, url, mode, ...counts];
  return new Child(peers.node, args, {}).said('how fast it drained', perSecondOf, DRAINED_WITHIN_MS);
}
