import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hintJobIdOf } from '../src/index.js';
import { aBus, aHint, type TestBus } from './bus-fixture.js';
import { privateRedis } from './private-redis.js';

const redis = await privateRedis();
afterAll(() => redis.dispose());

let test: TestBus;
beforeEach(async () => {
  await redis.client().flushall();
  test = aBus(redis.url);
});
afterEach(() => test.bus.close());

describe('looking at hints', () => {
  it('C5: lists what waits, oldest first and bounded, and names what is no hint', async () => {
    const [first, second, third] = [aHint(), aHint({ dispatchNo: 2 }), aHint()];
    await test.bus.publish([first]);
    await test.bus.publish([second]);
    const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
    const foreign = new Queue('default', { connection, prefix: '{test}' });
    await foreign.add('hint', {}, { jobId: 'broken' });
    await redis.client().hset(foreign.toKey('broken'), 'data', '{"half');
    await test.bus.publish([third]);

    const listed = await test.bus.listHints('default', 10);
    expect(listed).toEqual({
      ok: true,
      value: [
        { jobId: hintJobIdOf(first.runId, 1), hint: { ...first, publishedAt: expect.any(Date) } },
        { jobId: hintJobIdOf(second.runId, 2), hint: { ...second, publishedAt: expect.any(Date) } },
        { jobId: 'broken', hint: null },
        { jobId: hintJobIdOf(third.runId, 1), hint: { ...third, publishedAt: expect.any(Date) } },
      ],
    });
    expect(await test.bus.listHints('default', 1)).toMatchObject({
      value: [{ jobId: hintJobIdOf(first.runId, 1) }],
    });
    expect(await test.bus.listHints('default', 0)).toEqual({ ok: true, value: [] });
    expect(await test.bus.listHints('never used', 5)).toEqual({ ok: true, value: [] });
    await foreign.close();
    connection.disconnect();
  });

  it('Q27: removes the hint of a run that is not dispatched any more; twice is once', async () => {
    const [gone, kept] = [aHint(), aHint()];
    await test.bus.publish([gone, kept]);
    const jobId = hintJobIdOf(gone.runId, 1);
    expect(await test.bus.removeHint('default', jobId)).toEqual({ ok: true, value: true });
    expect(await test.bus.removeHint('default', jobId)).toEqual({ ok: true, value: false });
    expect(await test.bus.counts('default')).toEqual({
      ok: true,
      value: { waiting: 1, active: 0, foreign: 0 },
    });
  });

  it('lets one of many removers of a hint through', async () => {
    const hint = aHint();
    await test.bus.publish([hint]);
    const jobId = hintJobIdOf(hint.runId, hint.dispatchNo);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => test.bus.removeHint('default', jobId)),
    );
    expect(answers.filter((answer) => answer.ok && answer.value)).toHaveLength(1);
  });

  it('counts what others put there apart from hints', async () => {
    const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
    const foreign = new Queue('default', { connection, prefix: '{test}' });
    await foreign.add('hint', {}, { delay: 60_000 });
    await foreign.add('hint', {}, { priority: 5 });
    await test.bus.publish([aHint()]);
    expect(await test.bus.counts('default')).toEqual({
      ok: true,
      value: { waiting: 1, active: 0, foreign: 2 },
    });
    await foreign.close();
    connection.disconnect();
  });

  it('removes our keys and no other, however many', async () => {
    const client = redis.client();
    await test.bus.publish(Array.from({ length: 1500 }, () => aHint()));
    const others = ['{tes}:default:wait', '{test}x', 'test:default', '{test2}:default:wait'];
    for (const key of others) await client.set(key, 'theirs');
    const flushed = await test.bus.flushOwnKeys();
    expect(flushed.ok && flushed.value).toBeGreaterThanOrEqual(1501);
    expect((await client.keys('*')).sort()).toEqual([...others].sort());
  });

  it('answers "down" when Redis is away, for every question', async () => {
    const away = await privateRedis({ started: false });
    const { bus } = aBus(away.url);
    for (const answer of [
      await bus.listHints('default', 5),
      await bus.removeHint('default', 'x'),
      await bus.counts('default'),
      await bus.flushOwnKeys(),
    ]) {
      expect(answer).toMatchObject({ ok: false, reason: 'down' });
    }
    expect(await bus.checkRedis()).toMatchObject({
      state: 'unreachable',
      advice: expect.stringMatching(/Start Redis/),
    });
    await bus.close();
    await away.dispose();
  });
});
