import {
  type PostgresOptions,
  type PostgresServer,
  type RedisServer,
  startPostgres,
  startRedis,
} from '@headgate/embedded';
import { atEnd } from './at-end.js';
import { prepareDatabase, type RoleUrls } from './prepare-template.js';
import { TEST_REDIS_FOLDER } from './redis-for-tests.js';
import { removeDataFolder, temporaryDataFolder } from './temporary-folder.js';

/** A Postgres that one test may kill. Ended and erased at its end. */
export interface PrivatePostgres extends RoleUrls {
  readonly server: PostgresServer;
  readonly dataDir: string;
}

/** Starts one (about 2 s), with the product's database migrated. Durable unless told otherwise. */
export async function privatePostgres(
  options: Pick<PostgresOptions, 'durable' | 'maxConnections'> = {},
): Promise<PrivatePostgres> {
  const dataDir = temporaryDataFolder();
  atEnd(() => removeDataFolder(dataDir));
  const server = await startPostgres({ ...options, dataDir, url: null });
  atEnd(() => server.stop());
  return { server, dataDir, ...(await prepareDatabase(server.url)) };
}

/** A Redis that one test may kill, freeze or empty. Ended at the end of the test. Fails when there is none. */
export async function privateRedis(): Promise<RedisServer> {
  const dataDir = temporaryDataFolder();
  atEnd(() => removeDataFolder(dataDir));
  const server = await startRedis({ dataDir, url: null, fetchFolder: TEST_REDIS_FOLDER });
  if (server.unavailable !== undefined) throw new Error(`this test needs Redis: ${server.unavailable}`);
  atEnd(() => server.stop());
  return server;
}
