import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HintBus } from '../src/index.js';
import { aBus, aHint, type TestBus } from './bus-fixture.js';
import { eventually } from './eventually.js';
import { type PrivateRedis, privateRedis } from './private-redis.js';

let redis: PrivateRedis;
let test: TestBus;
beforeEach(async () => {
  redis = await privateRedis();
  test = aBus(redis.url);
});
afterEach(async () => {
  await test.bus.close();
  await redis.dispose();
});

async function waiting(bus: HintBus, queue = 'default'): Promise<number> {
  const counts = await bus.counts(queue);
  return counts.ok ? counts.value.waiting : -1;
}

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const startedMs = performance.now();
  return { value: await work(), ms: performance.now() - startedMs };
}

const NOTHING = { published: 0, failed: 1 };
const ONE = { published: 1, failed: 0 };

/** None waits for a time-out: ten together take less than one, and than ten waits for a first connection. */
async function failsAtOnce(bus: HintBus): Promise<void> {
  const { ms } = await timed(async () => {
    for (let n = 0; n < 10; n += 1) {
      const failed = await bus.publish([aHint(), aHint({ queue: 'other' })]);
      expect(failed).toEqual({ published: 0, failed: 2 });
    }
  });
  expect(ms).toBeLessThan(1_500);
}

describe('publishing hints', () => {
  it('C3: puts each hint into the queue of its capability profile', async () => {
    const hints = [
      aHint(),
      aHint({ queue: 'jdk-21' }),
      aHint({ queue: 'jdk-21' }),
      aHint({ queue: 'höch:ste' }),
    ];
    expect(await test.bus.publish(hints)).toEqual({ published: 4, failed: 0 });
    expect(await waiting(test.bus)).toBe(1);
    expect(await waiting(test.bus, 'jdk-21')).toBe(2);
    expect(await waiting(test.bus, 'höch:ste')).toBe(1);
  });

  it('one bad id does not take the batch with it', async () => {
    const bad = [aHint({ runId: 'a:b' as never }), aHint({ dispatchNo: -1 }), aHint({ queue: '' })];
    expect(await test.bus.publish([aHint(), ...bad, aHint()])).toEqual({ published: 2, failed: 3 });
    expect(await waiting(test.bus)).toBe(2);
    expect(test.events).toContainEqual({
      kind: 'publish-failed',
      queue: 'default',
      count: 2,
      reason: 'invalid',
    });
  });

  it('Q25: the same dispatch published again while it waits is stored once; the next dispatch is another', async () => {
    const hint = aHint();
    await test.bus.publish([hint, hint]);
    await test.bus.publish([hint]);
    expect(await waiting(test.bus)).toBe(1);
    await test.bus.publish([{ ...hint, dispatchNo: 2 }]);
    expect(await waiting(test.bus)).toBe(2);
  });

  it('more hints than fit one pipeline all arrive', async () => {
    const hints = Array.from({ length: 1201 }, () => aHint());
    expect(await test.bus.publish(hints)).toEqual({ published: 1201, failed: 0 });
    expect(await waiting(test.bus)).toBe(1201);
  });

  it('nothing to publish is nothing to ask Redis', async () => {
    await redis.kill();
    expect(await test.bus.publish([])).toEqual({ published: 0, failed: 0 });
  });

  it('Redis that refuses to store is a failed publication with its reason', async () => {
    await test.bus.publish([aHint()]);
    await redis.client().config('SET', 'maxmemory', '1');
    expect(await test.bus.publish([aHint()])).toEqual(NOTHING);
    expect(test.events.at(-1)).toMatchObject({ kind: 'publish-failed', reason: 'error' });
  });
});

describe('publishing while Redis is away (INV-HI1)', () => {
  it('Redis down: fails in milliseconds, and works again once it is back', async () => {
    await test.bus.publish([aHint()]);
    await redis.kill();
    await eventually(async () => (await test.bus.publish([aHint()])).failed === 1, {
      what: 'the loss is noticed',
    });
    await failsAtOnce(test.bus);
    expect(test.events.at(-1)).toMatchObject({ kind: 'publish-failed', reason: 'down' });

    await redis.start();
    const back = await timed(() =>
      eventually(async () => (await test.bus.publish([aHint()])).published === 1, {
        what: 'published again',
      }),
    );
    expect(back.ms).toBeLessThan(10_000);
    expect(await waiting(test.bus)).toBe(1);
  });

  it('Redis down at the start: fails in milliseconds, then works, then survives a second outage', async () => {
    const late = await privateRedis({ started: false });
    const { bus } = aBus(late.url);
    try {
      expect((await bus.publish([aHint()])).failed).toBe(1);
      await failsAtOnce(bus);
      for (const _ of ['first', 'second']) {
        await late.start();
        await eventually(async () => (await bus.publish([aHint()])).published === 1, { what: 'published' });
        await late.kill();
        await eventually(async () => (await bus.publish([aHint()])).failed === 1, {
          what: 'the loss is noticed',
        });
      }
    } finally {
      await bus.close();
      await late.dispose();
    }
  });

  it.each([2000, 6500])(
    'Redis frozen for %i ms: one caller waits, the others do not, and it thaws by itself',
    async (frozenMs) => {
      await test.bus.publish([aHint()]);
      redis.freeze();
      const startedMs = performance.now();
      const first = await timed(() => test.bus.publish([aHint()]));
      expect(first.value).toEqual(NOTHING);
      expect(first.ms).toBeLessThan(4_000);
      while (performance.now() - startedMs < frozenMs) {
        const next = await timed(() => test.bus.publish([aHint()]));
        expect(next.value).toEqual(NOTHING);
        // Less than the time-out that the first one waited for.
        expect(next.ms).toBeLessThan(1_400);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      redis.thaw();
      const back = await timed(() =>
        eventually(async () => (await test.bus.publish([aHint()])).published === 1, {
          what: 'published again',
        }),
      );
      expect(back.ms).toBeLessThan(10_000);
    },
  );

  it('FLUSHALL and SCRIPT FLUSH under way: the next publication works', async () => {
    await test.bus.publish([aHint()]);
    const client = redis.client();
    await client.flushall();
    await client.script('FLUSH');
    expect(await test.bus.publish([aHint(), aHint(), aHint()])).toEqual({ published: 3, failed: 0 });
    expect(await waiting(test.bus)).toBe(3);
  });

  it('without any Redis: nothing is published and nothing throws', async () => {
    const { bus, events } = aBus(null);
    expect(await bus.publish([aHint()])).toEqual(NOTHING);
    expect(bus.health().state).toBe('absent');
    expect(events).toEqual([{ kind: 'publish-failed', queue: 'default', count: 1, reason: 'absent' }]);
    expect(await bus.counts('default')).toMatchObject({ ok: false, reason: 'absent' });
    expect(await bus.listHints('default', 10)).toMatchObject({ ok: false, reason: 'absent' });
    expect((await bus.checkRedis()).state).toBe('absent');
    const consumer = bus.consume({ queues: ['default'], wanted: () => 1, onHints: async () => {} });
    await bus.wake('ready', { tenantId: 1, queue: 'default' });
    expect(await consumer.close({ graceMs: 0 })).toEqual({ clean: true });
    await bus.close();
  });
});

describe('the bus', () => {
  it.each(['', 'localhost:6379', 'http://localhost', 'postgres://u:secret@h/d'])(
    'refuses %j as an address and does not repeat it',
    (url) => {
      expect(() => aBus(url)).toThrow(/^REDIS_URL must look like/);
    },
  );

  it('publishes nothing after it was closed', async () => {
    expect(await test.bus.publish([aHint()])).toEqual(ONE);
    await test.bus.close();
    expect(await test.bus.publish([aHint()])).toEqual(NOTHING);
  });
});
