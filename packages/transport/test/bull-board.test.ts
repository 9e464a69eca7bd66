import { once } from 'node:events';
import { formatId } from '@headgate/domain';
import { Queue } from 'bullmq';
import express from 'express';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BullBoardOptions, createBullBoardRouter, hintJobIdOf } from '../src/index.js';
import { aBus, aHint, type TestBus } from './bus-fixture.js';
import { privateRedis } from './private-redis.js';

const redis = await privateRedis();
afterAll(() => redis.dispose());

let test: TestBus;
const closers: (() => unknown)[] = [];
beforeEach(async () => {
  await redis.client().flushall();
  test = aBus(redis.url);
});
afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await test.bus.close();
});

/** The board mounted at /bull, as the console does it; the token stands for a session. */
async function aBoard(changes: Partial<BullBoardOptions> = {}) {
  const app = express();
  const router = createBullBoardRouter({
    bus: test.bus,
    queues: () => ['default', 'jdk-21'],
    basePath: '/bull',
    authorise: (request, action) => {
      const role = request.get('x-role');
      if (role === undefined) return { allow: false, status: 401, message: 'Sign in.' };
      if (action === 'write' && role !== 'admin')
        return { allow: false, status: 403, message: 'Only admins.' };
      return { allow: true };
    },
    jobUrl: (runId) => `/runs/${runId}`,
    ...changes,
  });
  app.use('/bull', router);
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return (path: string, role: string | null = 'viewer', method = 'GET') =>
    fetch(`http://127.0.0.1:${address.port}/bull${path}`, {
      method,
      headers: role === null ? {} : { 'x-role': role, 'content-type': 'application/json' },
    });
}

interface Overview {
  readonly queues: readonly {
    readonly name: string;
    readonly readOnlyMode: boolean;
    readonly counts: Readonly<Record<string, number>>;
    readonly jobs: readonly { readonly id: string; readonly externalUrl?: { readonly href: string } }[];
  }[];
}

describe('Bull Board', () => {
  it('C6: shows the hint queues, and leads from a hint to its run', async () => {
    const hint = aHint({ queue: 'jdk-21' });
    await test.bus.publish([hint]);
    const get = await aBoard();
    const answer = await get('/api/queues?activeQueue=jdk-21&status=waiting');
    const { queues } = (await answer.json()) as Overview;
    expect(queues.map((queue) => queue.name)).toEqual(['default', 'jdk-21']);
    expect(queues[1]).toMatchObject({ readOnlyMode: true, counts: { waiting: 1 } });
    expect(queues[1]?.jobs).toMatchObject([
      { id: hintJobIdOf(hint.runId, 1), externalUrl: { href: `/runs/${formatId('run', hint.runId)}` } },
    ]);
  });

  it('serves its page and every file the page names, and asks nothing of another host', async () => {
    const get = await aBoard();
    const page = await (await get('/')).text();
    expect(page).toContain('<base href="/bull/"');
    expect(page).not.toMatch(/(?:src|href)="https?:/);
    const files = [...page.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map((match) => match[1]);
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) expect((await get(`/${file}`)).status, file).toBe(200);
    expect((await get('/queue/default')).status).toBe(200);
    const styles = files.filter((file) => file?.endsWith('.css'));
    for (const file of styles) expect(await (await get(`/${file}`)).text()).not.toMatch(/url\(["']?https?:/);
  });

  it('tells a stranger nothing: page, files and data need the same sign-in', async () => {
    const get = await aBoard();
    for (const path of ['/', '/api/queues', '/static/favicon.ico', '/nowhere']) {
      const answer = await get(path, null);
      expect(answer.status, path).toBe(401);
      expect(await answer.json()).toEqual({ error: 'Sign in.' });
    }
  });

  it('is read-only on the server, even for an admin who asks the API directly', async () => {
    const hint = aHint();
    await test.bus.publish([hint]);
    const get = await aBoard();
    const jobPath = `/api/queues/default/${hintJobIdOf(hint.runId, 1)}`;
    const attempts = [
      ['PUT', '/api/queues/default/pause'],
      ['PUT', '/api/queues/pause'],
      ['PUT', '/api/queues/default/empty'],
      ['PUT', '/api/queues/default/obliterate'],
      ['PUT', `${jobPath}/clean`],
      ['POST', '/api/queues/default/add'],
      ['PATCH', `${jobPath}/update-data`],
      ['DELETE', '/api/queues/default'],
    ] as const;
    for (const [method, path] of attempts) {
      const answer = await get(path, 'admin', method);
      expect(answer.status, `${method} ${path}`).toBe(405);
      expect(await answer.json()).toEqual({ error: expect.stringContaining('read-only') });
    }
    expect(await test.bus.counts('default')).toMatchObject({ value: { waiting: 1 } });
  });

  it('asks for the role of an actor before anything is changed, where it is not read-only', async () => {
    await test.bus.publish([aHint()]);
    const get = await aBoard({ readOnly: false });
    expect((await get('/api/queues/default/empty', 'viewer', 'PUT')).status).toBe(403);
    expect(await test.bus.counts('default')).toMatchObject({ value: { waiting: 1 } });
    expect((await get('/api/queues/default/empty', 'admin', 'PUT')).status).toBe(200);
    expect(await test.bus.counts('default')).toMatchObject({ value: { waiting: 0 } });
  });

  it('follows the configuration as queues come and go', async () => {
    let queues = ['default'];
    const get = await aBoard({ queues: () => queues });
    const names = async () =>
      ((await (await get('/api/queues')).json()) as Overview).queues.map((one) => one.name);
    expect(await names()).toEqual(['default']);
    queues = ['jdk-21', 'b'];
    expect(await names()).toEqual(['jdk-21', 'b']);
  });

  it('shows a foreign job without failing', async () => {
    const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
    const foreign = new Queue('default', { connection, prefix: '{test}' });
    await foreign.add('strange', 'text');
    await foreign.close();
    connection.disconnect();
    const get = await aBoard();
    const { queues } = (await (
      await get('/api/queues?activeQueue=default&status=waiting')
    ).json()) as Overview;
    expect(queues[0]?.jobs).toMatchObject([{ externalUrl: { href: '/bull' } }]);
  });

  it('answers in time with Redis gone, and says so where there is none', async () => {
    const away = await privateRedis({ started: false });
    const { bus } = aBus(away.url);
    const down = await aBoard({ bus });
    const startedMs = performance.now();
    const answered = await down('/api/queues');
    expect(answered.status).toBe(503);
    expect(await answered.json()).toEqual({ error: expect.stringContaining('not connected') });
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    await bus.close();
    await away.dispose();

    const absent = await aBoard({ bus: aBus(null).bus });
    const answer = await absent('/');
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain('no Redis');
  });
});
