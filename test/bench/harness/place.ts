/** Where it all runs: a durable Postgres and a Redis of our own, on loopback, gone at the end. */
import { type PostgresServer, type RedisServer, startPostgres, startRedis } from '@headgate/embedded';
import {
  inDatabase,
  prepareDatabase,
  type RoleUrls,
  removeDataFolder,
  temporaryDataFolder,
  withClient,
} from '@headgate/testkit/measure';

export interface Place {
  readonly postgres: PostgresServer;
  /** Null: there is none on this machine. */
  readonly redis: RedisServer | null;
  readonly folder: string;
  /** A new migrated database. */
  database(name: string): Promise<RoleUrls>;
  /** A new empty one, for a peer. */
  emptyDatabase(name: string): Promise<string>;
  close(): Promise<void>;
}

const TEMPLATE = 'bench_template';

export async function openPlace(): Promise<Place> {
  const folder = temporaryDataFolder();
  const postgres = await startPostgres({ dataDir: folder, url: null, durable: true });
  await assertDurable(postgres.url);
  const redis = await startRedis({ dataDir: folder, url: null, fetchFolder: `${folder}/redis-fetched` });
  const emptyDatabase = async (name: string): Promise<string> => {
    await withClient(postgres.url, (client) => client.query(`create database ${name}`));
    return inDatabase(postgres.url, name);
  };
  // Migrated once: each migration of its own would give the cluster's login roles other passwords.
  const template = emptyDatabase(TEMPLATE).then(prepareDatabase);
  return {
    postgres,
    redis: redis.unavailable === undefined ? redis : null,
    folder,
    emptyDatabase,
    database: async (name) => {
      const { ownerUrl, serviceUrl, apiUrl } = await template;
      await withClient(postgres.url, (client) =>
        client.query(`create database ${name} template ${TEMPLATE} strategy file_copy`),
      );
      return {
        ownerUrl: inDatabase(ownerUrl, name),
        serviceUrl: inDatabase(serviceUrl, name),
        apiUrl: inDatabase(apiUrl, name),
      };
    },
    close: async () => {
      if (redis.unavailable === undefined) await redis.stop();
      await postgres.stop();
      removeDataFolder(folder);
    },
  };
}

/** A figure without these two is of something else. */
async function assertDurable(url: string): Promise<void> {
  await withClient(url, async (client) => {
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
      const { rows } = await client.query<Record<string, string>>(`show ${setting}`);
      if (rows[0]?.[setting] !== 'on') throw new Error(`${setting} is ${rows[0]?.[setting]}: it must be on`);
    }
  });
}
