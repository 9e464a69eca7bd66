/** A redis-server of the test's own, which it may kill, freeze and restart empty. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually } from './eventually.js';

export interface PrivateRedis {
  readonly url: string;
  readonly port: number;
  /** Starts it, empty, on the same port. */
  start(): Promise<void>;
  kill(): Promise<void>;
  /** SIGSTOP: connected, silent. */
  freeze(): void;
  thaw(): void;
  /** A client of the test's own. */
  client(): Redis;
  dispose(): Promise<void>;
}

export async function privateRedis(options: { readonly started?: boolean } = {}): Promise<PrivateRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-redis-'));
  const port = await quietPort();
  const url = `redis://127.0.0.1:${port}`;
  const clients: Redis[] = [];
  let server: ChildProcess | null = null;

  const redis: PrivateRedis = {
    url,
    port,
    async start() {
      const arguments_ = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
      server = spawn('redis-server', [...arguments_, '--save', '', '--appendonly', 'no'], {
        stdio: 'ignore',
      });
      const started = server;
      await eventually(
        () => {
          if (started.exitCode !== null) throw new Error(`redis-server ended with ${started.exitCode}`);
          return answers(url);
        },
        { what: 'redis-server answers' },
      );
    },
    async kill() {
      if (server === null || server.exitCode !== null) return;
      const gone = once(server, 'exit');
      server.kill('SIGKILL');
      await gone;
      server = null;
    },
    freeze: () => void server?.kill('SIGSTOP'),
    thaw: () => void server?.kill('SIGCONT'),
    client() {
      const client = new Redis(url, { retryStrategy: () => 50 });
      client.on('error', () => {});
      clients.push(client);
      return client;
    },
    async dispose() {
      for (const client of clients) client.disconnect();
      await redis.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
  if (options.started !== false) await redis.start();
  return redis;
}

async function answers(url: string): Promise<boolean> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: null, maxRetriesPerRequest: 0 });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.ping()) === 'PONG';
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}

/**
 * A free port that the kernel gives to nobody: it lies below those of outgoing connections and of servers that take any.
 * A Redis that is killed finds it free again, and whoever tries to reach it meanwhile cannot reach itself.
 */
async function quietPort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
