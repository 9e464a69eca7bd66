/** The Postgres and the Redis of one cluster. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PostgresServer, RedisServer } from '@headgate/embedded';
import type { RoleUrls } from '../services/prepare-template.js';
import { privatePostgres, privateRedis } from '../services/private-servers.js';
import { hasTestRedis } from '../services/redis-for-tests.js';
import { testDatabase, testRedis } from '../services/shared.js';

export interface ClusterPostgres {
  readonly urls: RoleUrls;
  /** Null where it is shared: nobody may kill it. */
  readonly server: PostgresServer | null;
  /** What a private server has logged. */
  log(): string;
}

export interface ClusterRedis {
  /** Null: the cluster has none. */
  readonly url: string | null;
  readonly server: RedisServer | null;
  /** Removes everything: FLUSHALL on a private server, else the keys of this cluster's database. */
  flush(): Promise<void>;
}

export async function clusterPostgres(kind: 'shared' | 'private'): Promise<ClusterPostgres> {
  if (kind === 'shared') return { urls: await testDatabase(), server: null, log: () => '' };
  const { server, dataDir, ownerUrl, serviceUrl, apiUrl } = await privatePostgres();
  const log = (): string => readFileSync(join(dataDir, 'logs', 'postgres.log'), 'utf8');
  return { urls: { ownerUrl, serviceUrl, apiUrl }, server, log };
}

/** `none` too where this machine has none, unless a private one is asked for. */
export async function clusterRedis(kind: 'shared' | 'private' | 'none'): Promise<ClusterRedis> {
  const none: ClusterRedis = { url: null, server: null, flush: async () => {} };
  switch (kind) {
    case 'none':
      return none;
    case 'shared': {
      if (!hasTestRedis()) return none;
      const { url, flush } = await testRedis();
      return { url, server: null, flush };
    }
    case 'private': {
      const server = await privateRedis();
      return { url: server.url, server, flush: () => server.flushAll() };
    }
  }
}
