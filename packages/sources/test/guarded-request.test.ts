import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { guardedRequest } from '../src/index.js';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function aServer(answer: RequestListener): Promise<number> {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
const never = new AbortController().signal;
const LOOPBACK = ['127.0.0.0/8', '::1'];

describe('a guarded request', () => {
  it('security 11: reaches no address that is not public, by number, by name, or in another spelling', async () => {
    let asked = 0;
    const port = await aServer((_request, response) => {
      asked += 1;
      response.end('inside');
    });
    for (const host of [
      '127.0.0.1',
      'localhost',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '2130706433',
      '0x7f.1',
      '0.0.0.0',
      '169.254.169.254',
      '10.0.0.1',
    ]) {
      const answer = await guardedRequest({ url: `http://${host}:${port}/`, signal: never });
      expect(answer, host).toEqual({ kind: 'refused', detail: expect.stringContaining('allow') });
    }
    expect(asked).toBe(0);
  });

  it('security 11: reaches a range that is allowed by name, at the address that was judged', async () => {
    const port = await aServer((request, response) => response.end(`host ${request.headers.host}`));
    const byNumber = await guardedRequest({
      url: `http://127.0.0.1:${port}/`,
      allow: LOOPBACK,
      signal: never,
    });
    expect(byNumber).toEqual({ kind: 'answered', status: 200, body: `host 127.0.0.1:${port}` });
    const other = await guardedRequest({
      url: `http://127.0.0.1:${port}/`,
      allow: ['10.0.0.0/8'],
      signal: never,
    });
    expect(other.kind).toBe('refused');
  });

  it('security 11: follows no redirect, and bounds what it reads', async () => {
    const port = await aServer((request, response) => {
      if (request.url === '/moved') response.writeHead(302, { location: '/inside' }).end();
      else response.end('x'.repeat(300 * 1024));
    });
    const moved = await guardedRequest({
      url: `http://127.0.0.1:${port}/moved`,
      allow: LOOPBACK,
      signal: never,
    });
    expect(moved).toMatchObject({ kind: 'answered', status: 302 });
    const large = await guardedRequest({
      url: `http://127.0.0.1:${port}/large`,
      allow: LOOPBACK,
      signal: never,
    });
    expect(large).toEqual({ kind: 'failed', detail: expect.stringContaining('bytes') });
  });

  it('ends with its signal, and says what cannot be reached', async () => {
    const bound = new AbortController();
    const port = await aServer(() => bound.abort());
    const silent = await guardedRequest({
      url: `http://127.0.0.1:${port}/`,
      allow: LOOPBACK,
      signal: bound.signal,
    });
    expect(silent.kind).toBe('failed');
    for (const url of ['ftp://example.com/', 'nonsense', 'file:///etc/passwd']) {
      expect((await guardedRequest({ url, signal: never })).kind, url).toBe('refused');
    }
    const gone = await guardedRequest({ url: 'http://no-such-host.invalid/', signal: never });
    expect(gone.kind).toBe('failed');
  });
});
