import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { createLogger } from '@headgate/telemetry';
import { atEnd, testStore } from '@headgate/testkit';
import { expect, it, vi } from 'vitest';
import { Pool } from '../src/connection/database.js';
import { GatheringSocket } from '../src/connection/gathering-socket.js';

type Handed = Parameters<NonNullable<Socket['_writev']>>[0];

/** Notes what is handed to the system in one call. */
class Noted extends GatheringSocket {
  readonly calls: number[] = [];

  override _write(chunk: never, encoding: BufferEncoding, done: (fault?: Error | null) => void): void {
    this.calls.push(1);
    super._write(chunk, encoding, done);
  }

  override _writev(chunks: Handed, done: (fault?: Error | null) => void): void {
    this.calls.push(chunks.length);
    super._writev?.(chunks, done);
  }
}

async function connected(): Promise<{ socket: Noted; heard: () => string }> {
  let heard = '';
  const server = createServer((peer) => peer.setEncoding('utf8').on('data', (text) => (heard += text)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = new Noted();
  socket.connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  atEnd(() => {
    socket.destroy();
    server.close();
  });
  return { socket, heard: () => heard };
}

it('what is written in one turn goes in one call, in its order, also where the writer corks by itself', async () => {
  const { socket, heard } = await connected();
  socket.write('begin;');
  socket.cork();
  socket.write('a;');
  socket.write('b;');
  socket.uncork();
  await Promise.resolve();
  socket.write('commit;');
  expect(socket.calls).toEqual([]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(socket.calls).toEqual([4]);
  socket.write('next;');
  const closed = once(socket, 'close');
  socket.end('last');
  await closed;
  expect(heard()).toBe('begin;a;b;commit;next;last');
});

it('is what every session of a pool speaks through', async () => {
  const connecting = vi.spyOn(GatheringSocket.prototype, 'connect');
  atEnd(() => connecting.mockRestore());
  const db = await testStore();
  const url = db.urls.serviceUrl;
  const pool = new Pool(url, 1, {
    applicationName: 'test',
    logger: createLogger('test', { level: 'silent' }),
  });
  atEnd(() => pool.end());
  connecting.mockClear();
  await pool.use((c) => c.query('select 1'));
  expect(connecting).toHaveBeenCalledOnce();
});
