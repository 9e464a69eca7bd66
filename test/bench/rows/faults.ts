/** What it costs that a worker dies, and that Redis is emptied. */
import { setTimeout as delay } from 'node:timers/promises';
import { emptyPrivateRedis } from '@headgate/embedded';
import { type Sender, senderTo } from '../harness/delivery.js';
import { type Instance, openInstance } from '../harness/instance.js';
import type { Child } from '../harness/processes.js';
import { median } from '../harness/rounds.js';
import type { Bench, Part, Row } from '../harness/row.js';

/** Of the policy in harness/instance.ts. */
const TTL_MS = 6_000;
const BACKOFF_MS = 1_000;
const REAP_PERIOD_MS = 5_000;
const POLL_MS = 1_000;
/** Starts of one stretch under load, and the pause between them. */
const STARTS = 120;
const EVERY_MS = 25;

export const faults: Part = {
  name: 'faults',
  run: async (bench) => [await workerKilled(bench), ...(await redisEmptied(bench))],
};

async function workerKilled({ place, effort }: Bench): Promise<Row> {
  const instance = await openInstance(place, 'killed');
  const waits: number[] = [];
  const rounds = effort.isQuick ? 1 : effort.rounds;
  try {
    await instance.service('scheduler');
    await instance.service('reconciler');
    for (let round = 0; round < rounds; round += 1) {
      const { child: first } = await instance.service('worker', { BENCH_ATTEMPT: 'held', BENCH_TELL: '1' });
      await instance.admit(1, round);
      await started(first, 1);
      const { child: second } = await instance.service('worker', { BENCH_TELL: '1' });
      const killedMs = performance.timeOrigin + performance.now();
      await first.end('SIGKILL');
      const againMs = await started(second, 2);
      waits.push((againMs - killedMs - TTL_MS - BACKOFF_MS) / 1_000);
      await second.end();
    }
  } finally {
    await instance.close();
  }
  return {
    name: 'SIGKILL of a worker to the next attempt, beyond TTL and back-off',
    unit: 's',
    ours: waits,
    against: null,
    target: { kind: 'at-most', value: (REAP_PERIOD_MS + 1_000) / 1_000 },
  };
}

const started = (worker: Child, attempt: number): Promise<number> =>
  worker.said(`attempt ${attempt}`, (line) =>
    line['attempt'] === attempt && typeof line['startedMs'] === 'number' ? line['startedMs'] : undefined,
  );

async function redisEmptied({ place }: Bench): Promise<readonly Row[]> {
  const { redis } = place;
  if (redis === null) return [];
  const instance = await openInstance(place, 'emptied');
  try {
    const { url } = await instance.service('intake');
    await instance.service('scheduler');
    await instance.service('reconciler');
    await instance.service('worker');
    const waits = (name: string, halfWay: () => Promise<unknown>) =>
      stretch(instance, senderTo(url, name), name, halfWay);
    await waits('warm-up', async () => {});
    const calm = await waits('calm', async () => {});
    const emptied = await waits('emptied', async () => emptyPrivateRedis(redis.url));
    return [
      {
        name: 'FLUSHALL under load: longest wait for a start, more than without',
        unit: 's',
        ours: [Math.max(...emptied) - Math.max(...calm)],
        against: null,
        target: { kind: 'at-most', value: POLL_MS / 1_000 },
        note: `median wait ${median(calm).toFixed(3)} s`,
      },
    ];
  } finally {
    await instance.close();
  }
}

/** Sends deliveries at an even pace; how long each run waited from its admission to its claim, in seconds. */
async function stretch(
  instance: Instance,
  sender: Sender,
  name: string,
  halfWay: () => Promise<unknown>,
): Promise<readonly number[]> {
  for (let n = 0; n < STARTS; n += 1) {
    await sender.next().send();
    if (n === STARTS / 2) await halfWay();
    await delay(EVERY_MS);
  }
  const untilMs = performance.now() + 60_000;
  for (;;) {
    const rows = await instance.rows<{ waited: number | null }>(
      `select extract(epoch from r.started_at - r.created_at)::float8 as waited
         from headgate.run r join headgate.receipt x on x.id = r.receipt_id
        where x.event_id like '%' || $1 || '-%'`,
      [name],
    );
    if (rows.length === STARTS && rows.every(({ waited }) => waited !== null))
      return rows.map(({ waited }) => waited ?? 0);
    if (performance.now() > untilMs) throw new Error('not all runs were started');
    await delay(100);
  }
}
