/**
 * The servers that all test files of one run share, kept by vitest's main process.
 *
 * They start when the first test asks, so that a run of pure tests pays nothing; whoever asks meanwhile waits
 * for the same start. Test files are other processes and ask over HTTP on loopback, with a token. Nobody else
 * makes or drops a database here. A killed run leaves servers that die with it (or with the sweep of the next
 * run) and a temporary folder, which the next run's sweep removes.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import {
  endLeftovers,
  type PostgresServer,
  type RedisServer,
  startPostgres,
  startRedis,
} from '@headgate/embedded';
import { type Client, DatabaseError } from 'pg';
import { inDatabase, prepareTemplate, type RoleUrls, TEMPLATE_NAME, withClient } from './prepare-template.js';
import { TEST_REDIS_FOLDER } from './redis-for-tests.js';
import { abandonedDataFolders, removeDataFolder, temporaryDataFolder } from './temporary-folder.js';

/** How a test file reaches the shared servers. */
export interface SharedServersAddress {
  readonly url: string;
  readonly token: string;
}

/** One database of the shared Postgres. */
export interface SharedDatabase extends RoleUrls {
  readonly name: string;
}

/** One numbered database of the shared Redis, or why there is none. */
export type SharedRedis = { readonly url: string } | { readonly unavailable: string };

export interface SharedServers {
  readonly address: SharedServersAddress;
  stop(): Promise<void>;
}

/** Redis numbers its databases; a test has one for itself. */
const REDIS_DATABASES = 4_096;

export async function openSharedServers(): Promise<SharedServers> {
  const keeper = new Keeper();
  const token = randomBytes(18).toString('hex');
  const server = createServer((request, response) => {
    const isOurs = request.headers.authorization === `Bearer ${token}`;
    const answer = isOurs ? keeper.answer(request.url ?? '') : Promise.reject(new Error('wrong token'));
    answer.then(
      (value) => response.end(JSON.stringify(value)),
      (fault: unknown) => {
        response.statusCode = 500;
        response.end(fault instanceof Error ? (fault.stack ?? fault.message) : String(fault));
      },
    );
  });
  // A test that computes for seconds must not find its idle connection closed under its next question.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: { url: urlOf(server), token },
    async stop() {
      server.closeAllConnections();
      server.close();
      await keeper.stop();
    },
  };
}

function urlOf(server: Server): string {
  const address = server.address();
  if (typeof address !== 'object' || address === null)
    throw new Error('the server of the test kit does not listen');
  return `http://127.0.0.1:${address.port}`;
}

interface StartedPostgres {
  readonly server: PostgresServer;
  readonly template: RoleUrls;
}

class Keeper {
  #folder: string | null = null;
  #postgres: Promise<StartedPostgres> | null = null;
  #redis: Promise<RedisServer | { readonly unavailable: string }> | null = null;
  readonly #databases = new Set<string>();
  #nextDatabase = 1;
  #nextRedisDatabase = 1;

  answer(path: string): Promise<unknown> {
    const { pathname, searchParams } = new URL(path, 'http://loopback');
    switch (pathname) {
      case '/database/create':
        return this.#createDatabase();
      case '/database/drop':
        return this.#dropDatabase(searchParams.get('name') ?? '');
      case '/redis':
        return this.#redisDatabase();
      default:
        return Promise.reject(new Error(`no such request: ${pathname}`));
    }
  }

  async stop(): Promise<void> {
    const postgres = await this.#postgres?.catch(() => null);
    const redis = await this.#redis?.catch(() => null);
    // On a server that was given to us nothing may stay behind.
    if (postgres && !postgres.server.isPrivate) {
      for (const name of [...this.#databases]) await this.#dropDatabase(name);
    }
    if (redis && 'stop' in redis) await redis.stop();
    await postgres?.server.stop();
    if (this.#folder !== null) removeDataFolder(this.#folder);
  }

  async #createDatabase(): Promise<SharedDatabase> {
    const { server, template } = await this.#startedPostgres();
    const name = `headgate_test_${process.pid}_${this.#nextDatabase}`;
    this.#nextDatabase += 1;
    await withClient(server.url, (client) =>
      client.query(`create database ${name} template ${TEMPLATE_NAME} strategy file_copy`),
    );
    this.#databases.add(name);
    return {
      name,
      ownerUrl: inDatabase(template.ownerUrl, name),
      serviceUrl: inDatabase(template.serviceUrl, name),
      apiUrl: inDatabase(template.apiUrl, name),
    };
  }

  async #dropDatabase(name: string): Promise<null> {
    if (!this.#databases.delete(name)) return null;
    const { server } = await this.#startedPostgres();
    await withClient(server.url, (client) => dropForced(client, name));
    return null;
  }

  async #redisDatabase(): Promise<SharedRedis> {
    this.#redis ??= startRedis({
      dataDir: this.#dataFolder(),
      url: null,
      fetchFolder: TEST_REDIS_FOLDER,
      databases: REDIS_DATABASES,
    });
    const redis = await this.#redis;
    if (redis.unavailable !== undefined) return { unavailable: redis.unavailable };
    const number = this.#nextRedisDatabase % REDIS_DATABASES;
    this.#nextRedisDatabase += 1;
    return { url: `${redis.url}/${number}` };
  }

  #startedPostgres(): Promise<StartedPostgres> {
    this.#postgres ??= this.#startPostgres();
    return this.#postgres;
  }

  async #startPostgres(): Promise<StartedPostgres> {
    const server = await startPostgres({
      dataDir: this.#dataFolder(),
      // Never DATABASE_URL: that may be somebody's real database.
      url: process.env['HEADGATE_TEST_DATABASE_URL'] ?? null,
      durable: false,
    });
    return { server, template: await prepareTemplate(server.url) };
  }

  #dataFolder(): string {
    this.#folder ??= temporaryDataFolder();
    return this.#folder;
  }
}

const DROP_TRIES = 50;
const DROP_PAUSE_MS = 100;

/** Autovacuum may be at work in it: its worker belongs to nobody we may end, and is gone in a moment. */
async function dropForced(client: Client, name: string): Promise<void> {
  for (let tryNo = 1; ; tryNo += 1) {
    try {
      await client.query(`drop database if exists ${name} with (force)`);
      return;
    } catch (fault) {
      const isBusy = fault instanceof DatabaseError && (fault.code === '42501' || fault.code === '55006');
      if (!isBusy || tryNo >= DROP_TRIES) throw fault;
      await delay(DROP_PAUSE_MS);
    }
  }
}

/** Ends and removes what killed test runs left on this machine. */
export async function sweepAbandonedRuns(): Promise<void> {
  for (const folder of abandonedDataFolders()) {
    await endLeftovers(folder);
    removeDataFolder(folder);
  }
}

export { provideTestRedis } from './redis-for-tests.js';
