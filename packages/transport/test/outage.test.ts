import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Hint } from '../src/index.js';
import { aBus, aHint, aTaker } from './bus-fixture.js';
import { eventually } from './eventually.js';
import { type PrivateRedis, privateRedis } from './private-redis.js';

let redis: PrivateRedis;
const closers: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  redis = await privateRedis();
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  await redis.dispose();
});

const timing = { pingEveryMs: 100, unhealthyAfterMs: 1000, blockMs: 300 };

function busAt(url: string) {
  const { bus } = aBus(url, { timing });
  closers.push(() => bus.close({ graceMs: 100 }));
  return bus;
}

/** Publishes fresh hints until one of them arrives, as dispatch does; on a busy machine an earlier one may be first. */
async function arrives(bus: ReturnType<typeof busAt>, taker: ReturnType<typeof aTaker>, what: string) {
  const sent: Hint[] = [];
  await eventually(
    async () => {
      const hint = aHint();
      sent.push(hint);
      await bus.publish([hint]);
      const hasOne = () => sent.some(({ runId }) => taker.has(runId));
      return eventually(hasOne, { what, deadlineMs: 300 }).catch(() => false);
    },
    { what },
  );
}

const turns = (bus: ReturnType<typeof busAt>, state: string) =>
  eventually(() => bus.health().state === state, { what: `hints become ${state}` });

describe('a consumer through an outage of Redis (INV-HI1)', () => {
  it('started before Redis, it works once Redis comes', async () => {
    await redis.kill();
    const [bus, taker] = [busAt(redis.url), aTaker()];
    bus.consume({ queues: ['default'], ...taker });
    expect(bus.health().state).toBe('unhealthy');
    await redis.start();
    await arrives(bus, taker, 'the first hint');
    await turns(bus, 'healthy');
  });

  it('Redis killed and restarted empty, twice: unhealthy meanwhile, then hints flow again', async () => {
    const [bus, taker] = [busAt(redis.url), aTaker()];
    const states: string[] = [];
    bus.onHealthChange((health) => states.push(health.state));
    bus.consume({ queues: ['default'], ...taker });
    await arrives(bus, taker, 'a hint before');
    for (const _ of ['first', 'second']) {
      await turns(bus, 'healthy');
      await redis.kill();
      await turns(bus, 'unhealthy');
      expect(bus.health().reason).toMatch(/Neither a ping nor a hint|No answer from Redis/);
      await redis.start();
      await arrives(bus, taker, 'a hint after');
    }
    await turns(bus, 'healthy');
    // Each change is told once. A machine that stands still for a second makes two more of them.
    expect(states).toEqual(states.map((_, at) => (at % 2 === 0 ? 'healthy' : 'unhealthy')));
    expect(states.length).toBeGreaterThanOrEqual(5);
  });

  it('Redis frozen for seconds: unhealthy meanwhile, then hints flow again', async () => {
    const [bus, taker] = [busAt(redis.url), aTaker()];
    bus.consume({ queues: ['default'], ...taker });
    await arrives(bus, taker, 'a hint before');
    redis.freeze();
    await turns(bus, 'unhealthy');
    redis.thaw();
    await arrives(bus, taker, 'a hint after');
    await turns(bus, 'healthy');
  });

  it('FLUSHALL and SCRIPT FLUSH while it waits and while it works: the next hint arrives', async () => {
    const [bus, client] = [busAt(redis.url), redis.client()];
    const taker = aTaker();
    bus.consume({ queues: ['default'], ...taker });
    await arrives(bus, taker, 'a hint before');
    for (let round = 0; round < 5; round += 1) {
      const published = bus.publish(Array.from({ length: 50 }, () => aHint()));
      await client.flushall();
      await client.script('FLUSH');
      expect((await published).failed).toBeLessThanOrEqual(50);
      await arrives(bus, taker, `a hint after flush ${round}`);
    }
    await turns(bus, 'healthy');
  });

  it('a network that swallows everything and closes nothing is noticed, and left by reconnecting', async () => {
    const proxy = await swallowingProxy(redis.port);
    closers.push(() => proxy.close());
    const [bus, taker] = [busAt(`redis://127.0.0.1:${proxy.port}`), aTaker()];
    const woken: string[] = [];
    bus.onWake('ready', ({ queue }) => woken.push(queue));
    bus.consume({ queues: ['default'], ...taker });
    await arrives(bus, taker, 'a hint before');
    // Connections that exist now go silent for good; new ones work.
    proxy.swallowExisting();
    await turns(bus, 'unhealthy');
    await arrives(bus, taker, 'a hint after');
    await turns(bus, 'healthy');
    await eventually(
      async () => {
        await bus.wake('ready', { tenantId: 1, queue: 'default' });
        return woken.length > 0;
      },
      { what: 'wake-ups are heard again' },
    );
  });
});

describe('ending while Redis is away (Q24)', () => {
  /** Beyond the grace: it ends by itself, and does not wait for Redis. */
  const BOUND_MS = 5_000;

  async function closesWithin(limitMs: number, bus: ReturnType<typeof busAt>, graceMs: number) {
    const startedMs = performance.now();
    await bus.close({ graceMs });
    expect(performance.now() - startedMs).toBeLessThan(graceMs + limitMs);
  }

  it.each(['dead', 'frozen', 'never there'] as const)('is bounded with Redis %s', async (trouble) => {
    if (trouble === 'never there') await redis.kill();
    const [bus, taker] = [busAt(redis.url), aTaker()];
    bus.onWake('ready', () => {});
    const consumer = bus.consume({ queues: ['a', 'b'], ...taker });
    if (trouble !== 'never there') {
      await bus.publish([aHint({ queue: 'a' })]);
      await eventually(() => taker.received.length === 1, { what: 'it works' });
    }
    if (trouble === 'dead') await redis.kill();
    if (trouble === 'frozen') redis.freeze();
    void bus.publish([aHint()]);
    const startedMs = performance.now();
    await consumer.close({ graceMs: 300 });
    expect(performance.now() - startedMs).toBeLessThan(300 + BOUND_MS);
    await closesWithin(BOUND_MS, bus, 300);
  });

  it('takes milliseconds with Redis healthy, and no job is left behind', async () => {
    const [bus, taker] = [busAt(redis.url), aTaker()];
    bus.consume({ queues: ['default'], ...taker });
    const hint = aHint();
    await eventually(async () => (await bus.publish([hint])).published === 1, { what: 'it is published' });
    await eventually(() => taker.has(hint.runId), { what: 'it arrives' });
    // It needs none of its grace.
    await closesWithin(0, bus, 5_000);
    const after = busAt(redis.url);
    expect(await after.counts('default')).toEqual({ ok: true, value: { waiting: 0, active: 0, foreign: 0 } });
  });
});

/** Forwards to `target`, until told to read and forward nothing on the connections that stand at that moment. */
async function swallowingProxy(target: number) {
  const pairs = new Set<readonly [Socket, Socket]>();
  const server: Server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    const pair = [client, upstream] as const;
    pairs.add(pair);
    for (const socket of pair) socket.on('error', () => {});
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    client.pipe(upstream);
    upstream.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    swallowExisting() {
      for (const [client, upstream] of pairs) {
        client.unpipe(upstream);
        upstream.unpipe(client);
        client.resume();
        upstream.resume();
      }
    },
    async close() {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
      server.close();
    },
  };
}
