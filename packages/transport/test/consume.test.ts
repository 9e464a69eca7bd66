import { formatId } from '@headgate/domain';
import type { Logger } from '@headgate/telemetry';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Consumer, hintJobIdOf } from '../src/index.js';
import { aBus, aHint, aRunId, aTaker, silentLogger, type TestBus } from './bus-fixture.js';
import { eventually } from './eventually.js';
import { privateRedis } from './private-redis.js';

const redis = await privateRedis();
afterAll(() => redis.dispose());

let test: TestBus;
const closers: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  await redis.client().flushall();
  test = aBus(redis.url);
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  await test.bus.close();
});

function consume(taker: ReturnType<typeof aTaker>, queues: readonly string[] = ['default']): Consumer {
  return test.bus.consume({ queues, wanted: taker.wanted, onHints: taker.onHints });
}

/** A queue as anybody who reaches Redis can open it. */
function foreignQueue(): Queue {
  const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
  const queue = new Queue('default', { connection, prefix: '{test}' });
  closers.push(async () => {
    await queue.close();
    connection.disconnect();
  });
  return queue;
}

async function counts() {
  const answer = await test.bus.counts('default');
  if (!answer.ok) throw new Error(answer.message);
  return answer.value;
}

const isEmpty = async () => {
  const { waiting, active, foreign } = await counts();
  return waiting + active + foreign === 0;
};

describe('consuming hints', () => {
  it('C3: brings each hint to a consumer of its queue, with ids and trace context', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const [mine, others] = [aHint({ traceparent, dispatchNo: 4 }), aHint({ queue: 'other' })];
    const taker = aTaker();
    consume(taker);
    await test.bus.publish([mine, others]);
    await eventually(() => taker.has(mine.runId), { what: 'the hint' });
    expect(taker.received).toEqual([{ ...mine, publishedAt: expect.any(Date) }]);
    await eventually(isEmpty, { what: 'its job is finished' });
    expect(await test.bus.counts('other')).toMatchObject({ value: { waiting: 1 } });
  });

  it('I11: takes hints only while there are free slots, and what fits', async () => {
    let free = 0;
    const batches: number[] = [];
    const consumer = test.bus.consume({
      queues: ['default', 'second', 'third'],
      wanted: () => free,
      onHints: async (hints) => {
        free -= hints.length;
        batches.push(hints.length);
      },
    });
    const queues = ['default', 'second', 'third'];
    await test.bus.publish(Array.from({ length: 30 }, (_, n) => aHint({ queue: queues[n % 3] ?? '' })));
    const waiting = async () => {
      const all = await Promise.all(queues.map((queue) => test.bus.counts(queue)));
      return all.reduce(
        (sum, answer) => sum + (answer.ok ? answer.value.waiting + answer.value.active : 0),
        0,
      );
    };
    expect(await waiting()).toBe(30);

    free = 5;
    consumer.slotsChanged();
    await eventually(() => free === 0, { what: 'five are taken' });
    await eventually(async () => (await waiting()) === 25, { what: 'the rest waits' });
    expect(batches.reduce((sum, size) => sum + size, 0)).toBe(5);
    expect(free).toBe(0);

    free = 100;
    await eventually(() => free === 75, { what: 'all are taken without slotsChanged, by looking again' });
  });

  it('counts hints that are being claimed as taken, until onHints settles', async () => {
    const claims: (() => void)[] = [];
    let taken = 0;
    test.bus.consume({
      queues: ['default'],
      wanted: () => 2,
      onHints: (hints) => {
        taken += hints.length;
        return new Promise((resolve) => claims.push(resolve));
      },
    });
    await test.bus.publish(Array.from({ length: 6 }, () => aHint()));
    await eventually(() => taken === 2, { what: 'two are being claimed' });
    await eventually(async () => (await counts()).active === 0, { what: 'their jobs are finished already' });
    expect(await counts()).toMatchObject({ waiting: 4 });
    expect(taken).toBe(2);
    for (const claimed of claims.splice(0)) claimed();
    await eventually(() => taken === 4, { what: 'the next two' });
  });

  it('hands a backlog over in batches, not one by one', async () => {
    await test.bus.publish(Array.from({ length: 300 }, () => aHint()));
    const taker = aTaker();
    consume(taker);
    await eventually(() => taker.received.length === 300, { what: 'all' });
    expect(taker.batchSizes.length).toBeLessThan(100);
    expect(Math.max(...taker.batchSizes)).toBeLessThanOrEqual(100);
    expect(new Set(taker.received.map((hint) => hint.runId)).size).toBe(300);
  });

  it('Q2: two consumers share a queue and miss nothing', async () => {
    const [one, two] = [aTaker({ slots: 3 }), aTaker({ slots: 3 })];
    consume(one);
    consume(two);
    const hints = Array.from({ length: 200 }, () => aHint());
    await test.bus.publish(hints);
    const seen = () => new Set([...one.received, ...two.received].map((hint) => hint.runId)).size;
    await eventually(() => seen() === 200, { what: 'all' });
    await eventually(isEmpty, { what: 'nothing is left' });
  });

  it('Q2: a handled hint that is sent again comes again; the claim tells them apart', async () => {
    const taker = aTaker();
    consume(taker);
    const hint = aHint();
    await test.bus.publish([hint]);
    await eventually(() => taker.received.length === 1, { what: 'the first' });
    await eventually(isEmpty, { what: 'its job is gone' });
    await test.bus.publish([hint]);
    await eventually(() => taker.received.length === 2, { what: 'the second' });
  });

  it('goes on when onHints or wanted fail', async () => {
    let calls = 0;
    const taker = aTaker();
    test.bus.consume({
      queues: ['default'],
      wanted: () => {
        calls += 1;
        if (calls === 1) throw new Error('no');
        return 1;
      },
      onHints: async (hints) => {
        await taker.onHints(hints);
        if (taker.received.length === 1) throw new Error('the database is away');
      },
    });
    await test.bus.publish([aHint(), aHint()]);
    await eventually(() => taker.received.length === 2, { what: 'both' });
  });
});

describe('a quiet life', () => {
  it('logs no warning from start to end while Redis is healthy', async () => {
    const warnings: unknown[] = [];
    const logger: Logger = silentLogger.child({});
    for (const level of ['warn', 'error', 'fatal'] as const)
      logger[level] = (line: unknown) => warnings.push(line);
    const { bus } = aBus(redis.url, { logger });
    const taker = aTaker();
    bus.consume({ queues: ['default', 'other'], ...taker });
    await bus.publish([aHint(), aHint({ queue: 'other' })]);
    await eventually(() => taker.received.length === 2, { what: 'both' });
    await eventually(() => bus.health().state === 'healthy', { what: 'health' });
    await bus.close();
    expect(warnings).toEqual([]);
  });
});

describe('what is not a hint', () => {
  it('Q2: is dropped and counted, and the hints around it arrive', async () => {
    const foreign = foreignQueue();
    const raw = redis.client();
    const runId = aRunId();
    const id = hintJobIdOf(runId, 1);
    const [before, after] = [aHint(), aHint()];
    await test.bus.publish([before]);
    await foreign.add('hint', { runId: formatId('run', runId), dispatchNo: 1 }, { jobId: `${id}-copy` });
    await foreign.add('hint', 'not even an object' as never, { jobId: 'x-1' });
    await foreign.add('cleanup', {}, { jobId: 'x-2' });
    await foreign.add('hint', { runId: formatId('run', runId), dispatchNo: 1 }, { jobId: id, timestamp: 1 });
    for (const [jobId, field] of [
      ['unreadable-data', 'data'],
      ['unreadable-options', 'opts'],
    ] as const) {
      await foreign.add('hint', {}, { jobId });
      await raw.hset(foreign.toKey(jobId), field, '{"half');
    }
    await test.bus.publish([after]);

    const taker = aTaker();
    consume(taker);
    await eventually(() => taker.has(before.runId) && taker.has(after.runId), { what: 'the real hints' });
    await eventually(isEmpty, { what: 'nothing is left, not even among failed or completed jobs' });
    expect(taker.received).toHaveLength(2);
    const droppedOnes = () => test.events.filter((event) => event.kind === 'dropped');
    // Told behind the removal.
    await eventually(() => droppedOnes().length >= 6, { what: 'all six are told' });
    const dropped = droppedOnes();
    expect(dropped.map((event) => [event.jobId, event.reason]).sort()).toEqual(
      [
        [`${id}-copy`, 'malformed'],
        [id, 'ancient'],
        ['unreadable-data', 'malformed'],
        ['unreadable-options', 'malformed'],
        ['x-1', 'malformed'],
        ['x-2', 'malformed'],
      ].sort(),
    );
  });

  it('Q2: an invented hint of a run that nobody knows is handed over like any other: rows decide', async () => {
    const runId = aRunId();
    await foreignQueue().add(
      'hint',
      { runId: formatId('run', runId), dispatchNo: 99 },
      { jobId: hintJobIdOf(runId, 99) },
    );
    const taker = aTaker();
    consume(taker);
    await eventually(() => taker.has(runId), { what: 'the invented hint' });
  });
});

describe('pausing and ending', () => {
  it('Q24: a paused consumer takes nothing, leaves hints to others, and goes on when resumed', async () => {
    const [paused, other] = [aTaker(), aTaker()];
    const consumer = consume(paused);
    await test.bus.publish([aHint()]);
    await eventually(() => paused.received.length === 1, { what: 'it works' });
    consumer.pause();
    const hints = Array.from({ length: 5 }, () => aHint());
    await test.bus.publish(hints);
    const second = consume(other);
    await eventually(() => other.received.length === 5, { what: 'the other takes them' });
    expect(paused.received).toHaveLength(1);
    await second.close({ graceMs: 1000 });
    consumer.resume();
    await test.bus.publish([aHint()]);
    await eventually(() => paused.received.length === 2, { what: 'it works again' });
  });

  it('Q24: closing waits for claims under way and then takes nothing more', async () => {
    let claimed = (): void => {};
    const claim = new Promise<void>((resolve) => {
      claimed = resolve;
    });
    let taken = 0;
    const consumer = test.bus.consume({
      queues: ['default'],
      wanted: () => 1,
      onHints: async (hints) => {
        taken += hints.length;
        await claim;
      },
    });
    await test.bus.publish([aHint(), aHint()]);
    await eventually(() => taken === 1, { what: 'one is being claimed' });
    const closing = consumer.close({ graceMs: 5000 });
    claimed();
    expect(await closing).toEqual({ clean: true });
    expect(await consumer.close({ graceMs: 0 })).toEqual({ clean: true });
    expect(taken).toBe(1);
    expect(await counts()).toMatchObject({ waiting: 1, active: 0 });
  });

  it('Q24: closing gives back what was collected and not handed over', async () => {
    const taker = aTaker();
    const consumer = test.bus.consume({ ...taker, queues: ['default'], collectMs: 60_000 });
    await test.bus.publish([aHint(), aHint(), aHint()]);
    await eventually(async () => (await counts()).active === 3, { what: 'three are collected' });
    expect(await consumer.close({ graceMs: 2000 })).toEqual({ clean: true });
    expect(taker.received).toEqual([]);
    expect(await counts()).toEqual({ waiting: 3, active: 0, foreign: 0 });
  });

  it('Q24: closing says so when it had to cut off a claim', async () => {
    let taken = 0;
    const consumer = test.bus.consume({
      queues: ['default'],
      wanted: () => 1,
      onHints: (hints) => {
        taken += hints.length;
        return new Promise(() => {});
      },
    });
    await test.bus.publish([aHint()]);
    await eventually(() => taken === 1, { what: 'it is being claimed' });
    expect(await consumer.close({ graceMs: 50 })).toEqual({ clean: false });
  });

  it('Q4: a hint that died with the process that took it comes again within seconds', async () => {
    const hint = aHint();
    await test.bus.publish([hint]);
    const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
    const dead = new Worker('default', null, {
      connection,
      prefix: '{test}',
      autorun: false,
      lockDuration: 200,
    });
    expect(await dead.getNextJob('dead:1', { block: false })).toBeDefined();
    await dead.close(true);
    connection.disconnect();
    const taker = aTaker();
    consume(taker);
    await eventually(() => taker.has(hint.runId), { what: 'the hint comes again' });
  });
});
