/**
 * Signed webhooks through the real intake process, beside a load generator and Postgres on the same cores.
 *
 * What it is compared with gets the same: the same bodies, the same durable Postgres, the same Node, the same load, and
 * a moment to warm up first. The plain inserts store each body by itself and do nothing else; no HTTP is in their way.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { TEST_SECRET } from '../../world/policy.js';
import { openInstance } from '../harness/instance.js';
import { load, makeRequests, type Requests } from '../harness/load.js';
import { Child, peakRssMb } from '../harness/processes.js';
import { interleaved } from '../harness/rounds.js';
import type { Bench, Part } from '../harness/row.js';

/** More than any process here can take in a second. */
const MOST_PER_SECOND = 6_000;
/** What is not measured: a process that has just started is busy with compiling itself. */
const WARM_UP_SECONDS = 2;

export const intake: Part = {
  name: 'intake',
  run: async (bench) => {
    const { place, effort } = bench;
    const instance = await openInstance(place, 'intake');
    const plainUrl = await place.emptyDatabase('plain');
    const { child, url } = await instance.service('intake', {}, bench.peers.node);
    const peer = await expressPeer(bench, await place.emptyDatabase('express'));
    const count = MOST_PER_SECOND * effort.loadSeconds;
    const folder = (name: string) => `${place.folder}/requests-${name}`;
    const accepted = async () => {
      const [row] = await instance.rows<{ n: number }>(
        "select count(*)::int as n from headgate.receipt where outcome = 'accept' and kind = 'decision' and not existing",
      );
      return row?.n ?? 0;
    };
    const throwAt = (at: string, requests: ReturnType<typeof makeRequests>, seconds = effort.loadSeconds) =>
      load(bench, { url: at, seconds, requests });
    const warm = makeRequests(folder('warm'), {
      count: MOST_PER_SECOND * WARM_UP_SECONDS,
      from: 900_000_000,
    });
    try {
      for (const at of [url, peer.url]) await throwAt(at, warm, WARM_UP_SECONDS);
      const measured = await interleaved(effort.rounds, {
        inserts: () => singleInserts(bench, plainUrl, warm),
        accepts: async (round) => {
          const before = await accepted();
          const result = await throwAt(url, makeRequests(folder('accept'), { count, from: round * count }));
          if (result.failed > 0) bench.say(`  ${result.failed} deliveries were not taken`);
          return ((await accepted()) - before) / result.seconds;
        },
        duplicates: async (round) => {
          // The deliveries of this round again, from the first.
          const again = makeRequests(folder('duplicate'), { count: 2_000, from: round * count });
          return answered(await throwAt(url, again));
        },
        noWork: async (round) => {
          const pings = { count: 2_000, from: 10_000_000 + round * 100_000, event: 'ping', sameWork: true };
          return answered(await throwAt(url, makeRequests(folder('no-work'), pings)));
        },
        rejects: async (round) => {
          const stars = { count, from: 50_000_000 + round * count, event: 'no_such_event', sameWork: true };
          return answered(await throwAt(url, makeRequests(folder('reject'), stars)));
        },
        express: async (round) => {
          const requests = makeRequests(folder('express'), { count, from: round * count });
          return answered(await throwAt(peer.url, requests));
        },
      });
      const { accepts } = measured;
      const against = (name: string, values: readonly number[]) => ({ name, values });
      const perSecond = 'per second';
      return [
        {
          name: 'signed webhooks of 10 KB accepted, one intake process',
          unit: perSecond,
          ours: accepts,
          against: against('the same bodies inserted, one row a commit, 16 connections', measured.inserts),
          target: { kind: 'at-least', value: 0.8 },
        },
        {
          name: 'the same',
          unit: perSecond,
          ours: accepts,
          against: against('Express, signature, graphile-worker addJob with key', measured.express),
          target: { kind: 'at-least', value: 4 },
        },
        ...(
          [
            ['duplicate deliveries', measured.duplicates],
            ['deliveries that ask for no work (ping)', measured.noWork],
            ['rejected deliveries (unknown event)', measured.rejects],
          ] as const
        ).map(([name, values]) => ({
          name,
          unit: perSecond,
          ours: values,
          against: against('accepted ones', accepts),
          target: { kind: 'at-least', value: 1.5 } as const,
        })),
        {
          name: 'largest resident size of intake under that load',
          unit: 'MB',
          ours: [peakRssMb(child.pid)],
          against: null,
          target: { kind: 'at-most', value: 150 },
        },
      ];
    } finally {
      await peer.child.end();
      await instance.close();
    }
  },
};

const answered = (result: { requests: number; failed: number; seconds: number }): number =>
  (result.requests - result.failed) / result.seconds;

async function singleInserts({ peers, effort }: Bench, url: string, { folder }: Requests): Promise<number> {
  const script = `${peers.folder}/single-inserts.mjs`;
  const args = [script, url, String(effort.loadSeconds), `${folder}/requests.json`];
  return new Child(peers.node, args, {}).said('what it inserted', perSecondOf);
}

export const perSecondOf = (line: Readonly<Record<string, unknown>>): number | undefined =>
  typeof line['perSecond'] === 'number' ? line['perSecond'] : undefined;

async function expressPeer({ peers }: Bench, url: string): Promise<{ child: Child; url: string }> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  probe.close();
  await once(probe, 'close');
  const args = [`${peers.folder}/express-graphile.mjs`, url, String(port), TEST_SECRET];
  const child = new Child(peers.node, args, { NODE_ENV: 'production' });
  await child.said('that it is ready', (line) => (line['ready'] === true ? true : undefined));
  return { child, url: `http://127.0.0.1:${port}` };
}
