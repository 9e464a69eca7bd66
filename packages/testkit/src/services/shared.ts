import { inject } from 'vitest';
import { atEnd } from './at-end.js';
import type { SharedDatabase, SharedRedis, SharedServersAddress } from './shared-servers.js';

declare module 'vitest' {
  interface ProvidedContext {
    sharedServers: SharedServersAddress;
  }
}

/** A database of its own for one test or one file, migrated, with the real roles. Dropped at its end. */
export interface TestDatabase extends SharedDatabase {
  drop(): Promise<void>;
}

/** Copies the template: about 60 ms; the first call of a run starts the server, about 3 s. */
export async function testDatabase(): Promise<TestDatabase> {
  const database = (await ask('/database/create')) as SharedDatabase;
  const drop = async () => {
    await ask(`/database/drop?name=${database.name}`);
  };
  atEnd(drop);
  return { ...database, drop };
}

/** A Redis database and key prefix that no other test uses. */
export interface TestRedis {
  readonly url: string;
  readonly prefix: string;
  /** Removes the keys of this test only. For FLUSHALL take a `privateRedis`. */
  flush(): Promise<void>;
}

/** Part of the shared Redis. Fails when there is none: put such tests into `describeWithTool('redis', …)`. */
export async function testRedis(): Promise<TestRedis> {
  const redis = (await ask('/redis')) as SharedRedis;
  if ('unavailable' in redis) throw new Error(`this test needs Redis: ${redis.unavailable}`);
  const flush = () => flushDatabase(redis.url);
  // The number may have been another test's; 4 096 are handed out in turn.
  await flush();
  return { url: redis.url, prefix: `test${new URL(redis.url).pathname.slice(1)}`, flush };
}

async function flushDatabase(url: string): Promise<void> {
  const { Redis } = await import('ioredis');
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1 });
  try {
    await client.connect();
    await client.flushdb();
  } finally {
    client.disconnect();
  }
}

async function ask(path: string): Promise<unknown> {
  const { url, token } = inject('sharedServers');
  const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`the shared servers answered ${path} with:\n${await response.text()}`);
  return response.json();
}
