import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createClient, HeadgateProblem, HeadgateUnreachable } from '../src/index.js';

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server on loopback that keeps what it was asked. */
async function aServer(answer: (asked: Asked, response: ServerResponse) => void) {
  const all: Asked[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const asked = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body };
    all.push(asked);
    answer(asked, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: `http://127.0.0.1:${address.port}`, all };
}

const json = (
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};

describe('the client', () => {
  it('sends its token, encodes what it is given, and leaves out what it is not', async () => {
    const { url, all } = await aServer((_asked, response) => json(response, { items: [], nextCursor: null }));
    const client = createClient({ url: `${url}/`, token: 'hg_token' });
    await client.runs.page({ workKey: 'a:b/ü&*', limit: 3 });
    await client.runs.page();
    await client.explain('acme/api#7');
    await client.runs.get('run_/../x');
    expect(all.map((asked) => asked.url)).toEqual([
      '/v1/runs?workKey=a%3Ab%2F%C3%BC%26*&limit=3',
      '/v1/runs',
      '/v1/explain?ref=acme%2Fapi%237',
      '/v1/runs/run_%2F..%2Fx',
    ]);
    expect(new Set(all.map((asked) => asked.headers.authorization))).toEqual(new Set(['Bearer hg_token']));
  });

  it('posts a body, and an Idempotency-Key when it is given', async () => {
    const { url, all } = await aServer((_asked, response) => json(response, {}, 202));
    const client = createClient({ url, token: 't' });
    await client.submitWork({ route: 'tidy', priority: 'high' }, { idempotencyKey: 'once' });
    await client.submitWork({ route: 'tidy' });
    await client.runs.cancel('run_1');
    expect(all.map(({ method, url: path, body }) => [method, path, JSON.parse(body)])).toEqual([
      ['POST', '/v1/work', { route: 'tidy', priority: 'high' }],
      ['POST', '/v1/work', { route: 'tidy' }],
      ['POST', '/v1/runs/run_1/cancel', {}],
    ]);
    expect(all.map((asked) => asked.headers['idempotency-key'])).toEqual(['once', undefined, undefined]);
  });

  it('fetches pages only as far as somebody reads, a short one among them', async () => {
    const pages: Record<string, unknown> = {
      '': { items: [1, 2], nextCursor: 'b' },
      b: { items: [], nextCursor: 'c' },
      c: { items: [3], nextCursor: null },
    };
    const { url, all } = await aServer((asked, response) =>
      json(response, pages[new URL(asked.url, 'http://x').searchParams.get('cursor') ?? '']),
    );
    const client = createClient({ url, token: 't' });
    const seen: unknown[] = [];
    for await (const item of client.workers.all({ limit: 2, state: 'READY' })) seen.push(item);
    expect(seen).toEqual([1, 2, 3]);
    expect(all.every((asked) => asked.url.includes('limit=2&state=READY'))).toBe(true);
    all.splice(0);
    for await (const _item of client.workers.all()) break;
    expect(all).toHaveLength(1);
  });

  it('throws the problem, with its code and when to try again', async () => {
    const problem = {
      type: 'x',
      title: 'Full.',
      status: 429,
      detail: 'Wait.',
      code: 'QUEUE_FULL',
      receiptId: 'rcpt_1',
    };
    const { url } = await aServer((_asked, response) => json(response, problem, 429, { 'retry-after': '7' }));
    const failed = createClient({ url, token: 't' }).submitWork({ route: 'r' });
    await expect(failed).rejects.toThrow(HeadgateProblem);
    await expect(failed).rejects.toMatchObject({
      code: 'QUEUE_FULL',
      status: 429,
      problem,
      retryAfterSeconds: 7,
    });
  });

  it('makes a problem of what a proxy in between says', async () => {
    const { url } = await aServer((_asked, response) => {
      response.writeHead(502, { 'content-type': 'text/html' });
      response.end('<h1>Bad gateway</h1>');
    });
    await expect(createClient({ url, token: 't' }).queues.page()).rejects.toMatchObject({
      status: 502,
      code: 'HTTP_502',
      problem: { detail: '<h1>Bad gateway</h1>', receiptId: null },
      retryAfterSeconds: null,
    });
  });

  it('says when nobody answers, and follows no redirect with its token', async () => {
    const { url, all } = await aServer((_asked, response) => {
      response.writeHead(302, { location: '/elsewhere' });
      response.end();
    });
    await expect(createClient({ url, token: 't' }).queues.page()).rejects.toThrow(HeadgateUnreachable);
    expect(all).toHaveLength(1);
    for (const close of closers.splice(0)) close();
    await expect(createClient({ url, token: 't' }).queues.page()).rejects.toThrow(HeadgateUnreachable);
  });

  it('hands out the bytes of an artifact as they come', async () => {
    const { url, all } = await aServer((_asked, response) => response.end('log ✓'));
    const client = createClient({ url, token: 't' });
    expect(await (await client.runs.artifact('run_1', 'agent log.txt', 2)).text()).toBe('log ✓');
    expect(all[0]?.url).toBe('/v1/runs/run_1/artifacts/agent%20log.txt?attempt=2');
  });
});
