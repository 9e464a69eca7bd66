import { formatId } from '@headgate/domain';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WakePayloads } from '../src/index.js';
import { aBus, aRunId, type TestBus } from './bus-fixture.js';
import { eventually } from './eventually.js';
import { privateRedis } from './private-redis.js';

const redis = await privateRedis();
afterAll(() => redis.dispose());

let sender: TestBus;
let hearer: TestBus;
beforeEach(() => {
  sender = aBus(redis.url);
  hearer = aBus(redis.url);
});
afterEach(async () => {
  await sender.bus.close();
  await hearer.bus.close();
});

/** Waits until a listener hears what is sent: nothing says when a subscription has begun. */
async function hears(heard: readonly unknown[], send: () => Promise<unknown>) {
  await eventually(
    async () => {
      await send();
      return heard.length > 0;
    },
    { what: 'the wake-up is heard' },
  );
}

describe('wake-ups', () => {
  it('Q26: tell schedulers which tenant has something ready in which queue', async () => {
    const heard: WakePayloads['ready'][] = [];
    hearer.bus.onWake('ready', (payload) => heard.push(payload));
    await hears(heard, () => sender.bus.wake('ready', { tenantId: 7, queue: 'default' }));
    expect(heard[0]).toEqual({ tenantId: 7, queue: 'default' });
  });

  it('Q5: tell workers that a run is to be cancelled; the id is a TypeID on the wire', async () => {
    const runId = aRunId();
    const heard: WakePayloads['cancel'][] = [];
    const raw: string[] = [];
    const subscriber = redis.client();
    await subscriber.subscribe('{test}:wake:cancel');
    subscriber.on('message', (_, message) => raw.push(message));
    hearer.bus.onWake('cancel', (payload) => heard.push(payload));
    await hears(heard, () => sender.bus.wake('cancel', { runId }));
    expect(heard[0]).toEqual({ runId });
    await eventually(() => raw.length > 0, { what: 'the raw message' });
    expect(JSON.parse(raw[0] ?? '')).toEqual({ runId: formatId('run', runId) });
  });

  it('stay within their prefix', async () => {
    const stranger = aBus(redis.url, { prefix: 'stranger' });
    const [heard, strange]: [unknown[], unknown[]] = [[], []];
    hearer.bus.onWake('ready', (payload) => heard.push(payload));
    stranger.bus.onWake('ready', (payload) => strange.push(payload));
    await hears(strange, () => stranger.bus.wake('ready', { tenantId: 1, queue: 'a' }));
    await hears(heard, () => sender.bus.wake('ready', { tenantId: 2, queue: 'b' }));
    expect(heard).not.toContainEqual({ tenantId: 1, queue: 'a' });
    await stranger.bus.close();
  });

  it('Q2: garbage on the channel is dropped and counted, and a failing listener harms nobody', async () => {
    const heard: unknown[] = [];
    hearer.bus.onWake('ready', () => {
      throw new Error('listener');
    });
    hearer.bus.onWake('ready', (payload) => heard.push(payload));
    await hears(heard, () => sender.bus.wake('ready', { tenantId: 1, queue: 'default' }));
    const raw = redis.client();
    for (const garbage of ['', 'null', '{"tenantId":"1","queue":"a"}', '{"tenantId":1,"queue":""}', '[1']) {
      await raw.publish('{test}:wake:ready', garbage);
    }
    const dropped = () => hearer.events.filter((event) => event.kind === 'wake-dropped').length;
    await eventually(() => dropped() === 10, { what: 'both listeners drop all five' });
    const before = heard.length;
    await sender.bus.wake('ready', { tenantId: 1, queue: 'default' });
    await eventually(() => heard.length > before, { what: 'the next one is heard' });
  });

  it('are not heard after the listener was taken away', async () => {
    const [heard, still]: [unknown[], unknown[]] = [[], []];
    const stop = hearer.bus.onWake('ready', (payload) => heard.push(payload));
    hearer.bus.onWake('ready', (payload) => still.push(payload));
    await hears(heard, () => sender.bus.wake('ready', { tenantId: 1, queue: 'default' }));
    stop();
    const [before, stillBefore] = [heard.length, still.length];
    await sender.bus.wake('ready', { tenantId: 1, queue: 'default' });
    await eventually(() => still.length > stillBefore, { what: 'the other listener hears it' });
    expect(heard).toHaveLength(before);
  });

  it('are lost in silence while Redis is down, and heard again after', async () => {
    const own = await privateRedis();
    const [{ bus }, heard] = [aBus(own.url), [] as unknown[]];
    try {
      bus.onWake('ready', (payload) => heard.push(payload));
      await hears(heard, () => bus.wake('ready', { tenantId: 1, queue: 'default' }));
      await own.kill();
      await expect(bus.wake('ready', { tenantId: 1, queue: 'default' })).resolves.toBeUndefined();
      await own.start();
      heard.length = 0;
      await hears(heard, () => bus.wake('ready', { tenantId: 1, queue: 'default' }));
    } finally {
      await bus.close();
      await own.dispose();
    }
  });
});
