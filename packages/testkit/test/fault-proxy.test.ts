import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually, type FaultProxy, faultProxy } from '../src/index.js';

describe('the fault proxy', () => {
  let echo: Server;
  let proxy: FaultProxy;
  const clients: Socket[] = [];

  beforeEach(async () => {
    echo = createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1');
    await once(echo, 'listening');
    const address = echo.address();
    proxy = await faultProxy({ port: typeof address === 'object' && address ? address.port : 0 });
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy();
    echo.close();
  });

  async function open() {
    const socket = connect({ host: '127.0.0.1', port: proxy.port });
    clients.push(socket);
    const seen = { text: '', pieces: 0, error: '' };
    socket.on('data', (chunk) => {
      seen.text += chunk.toString();
      seen.pieces += 1;
    });
    socket.on('error', (error) => {
      seen.error = 'code' in error ? String(error.code) : error.message;
    });
    await once(socket, 'connect');
    return { socket, seen };
  }
  const echoed = (seen: { text: string }, text: string) =>
    eventually(() => seen.text === text, { what: `the echo of ${text.slice(0, 20)}` });

  test('passes everything while it is healthy, however much, and the end too', async () => {
    const { socket, seen } = await open();
    const much = 'x'.repeat(3_000_000);
    socket.end(much);
    await once(socket, 'close');
    expect(seen.text.length).toBe(much.length);
    await eventually(() => proxy.connections() === 0, { what: 'the connection is forgotten' });
  });

  test('delays each piece by the latency, both ways', async () => {
    const { socket, seen } = await open();
    proxy.latency(80);
    const from = performance.now();
    socket.write('slow');
    await echoed(seen, 'slow');
    expect(performance.now() - from).toBeGreaterThanOrEqual(155);
  });

  test('keeps bytes waiting in a black hole and passes them when it heals', async () => {
    const { socket, seen } = await open();
    proxy.blackhole();
    socket.write('held');
    const { seen: second, socket: other } = await open();
    other.write('also');
    proxy.latency(0);
    expect([seen.text, second.text]).toEqual(['', '']);
    proxy.heal();
    await echoed(seen, 'held');
    await echoed(second, 'also');
  });

  test('blocks one direction alone: the request arrives, the answer does not', async () => {
    const arrived: string[] = [];
    echo.on('connection', (socket) => socket.on('data', (chunk) => arrived.push(chunk.toString())));
    const { socket, seen } = await open();
    proxy.blackhole('toClient');
    socket.write('request');
    await eventually(() => arrived.join('') === 'request', { what: 'the request arrives' });
    expect(seen.text).toBe('');
    proxy.heal();
    await echoed(seen, 'request');
  });

  test('resets a connection after exactly that many bytes of the answer', async () => {
    const { socket, seen } = await open();
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    proxy.resetAfter(5);
    socket.write('0123456789');
    await closed;
    // A reset may overtake the bytes before it, never let more through.
    expect('01234'.startsWith(seen.text)).toBe(true);
  });

  test('slices an answer into small pieces without changing it', async () => {
    const { socket, seen } = await open();
    proxy.slice(1);
    proxy.latency(5);
    socket.write('slices');
    await echoed(seen, 'slices');
    expect(seen.pieces).toBeGreaterThan(1);
  });

  test('cuts what is open and serves what comes after', async () => {
    const { seen } = await open();
    proxy.cut();
    await eventually(() => seen.error === 'ECONNRESET', { what: 'the reset' });
    const after = await open();
    after.socket.write('again');
    await echoed(after.seen, 'again');
  });

  test('refuses connections once it is closed', async () => {
    await proxy.close();
    await expect(open()).rejects.toThrow(/ECONNREFUSED/);
  });

  test('changes host and port of an address and nothing else', () => {
    expect(proxy.through('postgres://me:pw@db.example:5432/x?sslmode=off')).toBe(
      `postgres://me:pw@127.0.0.1:${proxy.port}/x?sslmode=off`,
    );
  });
});
