/** For orientation: what other queues do here, on their own. */
import { Child } from '../harness/processes.js';
import { interleaved } from '../harness/rounds.js';
import type { Bench, Part, Row } from '../harness/row.js';

export const others: Part = {
  name: 'others',
  run: async (bench) => {
    const { place, effort } = bench;
    const { redis } = place;
    const added: number[] = [];
    const sent: number[] = [];
    const measured = await interleaved(effort.rounds, {
      bullmq: async () => (redis === null ? Number.NaN : peer(bench, 'bullmq', redis.url, 'added', added)),
      boss: async (round) => peer(bench, 'pg-boss', await place.emptyDatabase(`boss_${round}`), 'sent', sent),
    });
    const row = (name: string, ours: readonly number[]): Row => ({
      name,
      unit: 'per second',
      ours,
      against: null,
      target: null,
    });
    return [
      ...(redis === null
        ? []
        : [
            row('BullMQ alone: added in bulk', added),
            row('BullMQ alone: no-op jobs drained at concurrency 100', measured.bullmq),
          ]),
      row('pg-boss: sent with a key, 32 in flight', sent),
      row('pg-boss: fetched and completed by 500, no handlers', measured.boss),
    ];
  },
};

async function peer(
  { peers, effort }: Bench,
  name: string,
  url: string,
  first: string,
  into: number[],
): Promise<number> {
  const child = new Child(peers.node, [`${peers.folder}/${name}.mjs`, url, String(effort.runs)], {});
  const line = await child.said('its figures', (said) =>
    typeof said['perSecond'] === 'number' ? said : undefined,
  );
  into.push(Number(line[first]));
  return Number(line['perSecond']);
}
