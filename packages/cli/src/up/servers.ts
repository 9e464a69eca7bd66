/** The private Postgres and Redis of `up`, or those that were given. */
import type { Settings } from '@headgate/config';
import {
  EmbeddedError,
  type RedisServer,
  type RedisUnavailable,
  startPostgres,
  startRedis,
} from '@headgate/embedded';
import { inspectPostgres, MigrationError, migrate, type RoleUrls, roleUrls } from '@headgate/store';
import type { Logger } from '@headgate/telemetry';
import { CommandEnd, EXIT } from '../exit.js';
import type { Lifetime } from './lifetime.js';

const STOP_POSTGRES_MS = 20_000;
const STOP_REDIS_MS = 12_000;
const OLDEST_MAJOR = 15;

export interface StartedDatabase {
  readonly urls: RoleUrls;
  readonly isPrivate: boolean;
  readonly port: number;
  readonly version: string;
  /** Names of the migrations that this start applied. */
  readonly applied: readonly string[];
}

export async function startDatabase(
  life: Lifetime,
  settings: Settings,
  logger: Logger,
): Promise<StartedDatabase> {
  const { dataDir, databaseUrl } = settings;
  if (databaseUrl === null && settings.databaseUrlService !== null) {
    throw new CommandEnd(
      EXIT.usage,
      'DATABASE_URL_SERVICE is set and DATABASE_URL is not: "up" needs the owner of the schema, to migrate it.',
      'Set DATABASE_URL too, or neither for a private Postgres.',
    );
  }
  const server = await life.step(() => startPostgres({ dataDir, url: databaseUrl, logger }).catch(explain), {
    name: 'postgres',
    withinMs: STOP_POSTGRES_MS,
    end: (made) => made.stop(),
  });
  const found = await life.step(() => inspectPostgres(server.url));
  if (found.kind === 'unreachable') {
    throw new CommandEnd(
      EXIT.negative,
      `Postgres does not answer: ${found.message}.`,
      'Start it or correct DATABASE_URL; unset it for a private Postgres.',
    );
  }
  if (found.major < OLDEST_MAJOR) {
    throw new CommandEnd(
      EXIT.negative,
      `Postgres ${found.version} is too old.`,
      `Use ${OLDEST_MAJOR} or later.`,
    );
  }
  const urls = await life.step(() =>
    roleUrls({
      ownerUrl: server.url,
      dataDir,
      serviceUrl: settings.databaseUrlService,
      apiUrl: settings.databaseUrlApi,
    }),
  );
  const { applied } = await life.step(() =>
    migrate({ ownerUrl: server.url, passwords: urls.passwords }).catch(explain),
  );
  return { urls, isPrivate: server.isPrivate, port: server.port, version: found.version, applied };
}

/** Null when there is none: then workers poll. */
export async function startHints(
  life: Lifetime,
  settings: Settings,
  logger: Logger,
): Promise<RedisServer | RedisUnavailable> {
  return life.step(
    () =>
      startRedis({ dataDir: settings.dataDir, url: settings.redisUrl, logger, comesBack: true }).catch(
        explain,
      ),
    {
      name: 'redis',
      withinMs: STOP_REDIS_MS,
      end: async (made) => {
        if (made.unavailable === undefined) await made.stop();
      },
    },
  );
}

function explain(fault: unknown): never {
  if (fault instanceof EmbeddedError || fault instanceof MigrationError) {
    throw new CommandEnd(EXIT.negative, fault.message, null, { cause: fault });
  }
  throw fault;
}
