/**
 * Three kinds of connection, each with the settings that were measured to fail and recover as its use needs.
 *
 * - A producer must answer now: no offline queue, one try, a command time-out.
 * - A consumer may wait for ever, its loop is parked meanwhile: no limit of tries, no command time-out (a blocking
 *   read is a command too).
 * - All reconnect at least once a second, and give up a socket that owes an answer for 5 s: a black hole in the
 *   network closes nothing, and TCP alone would wait a quarter of an hour.
 */
import type { Logger } from '@headgate/telemetry';
import { Redis, type RedisOptions } from 'ioredis';

/** A producer's command fails after this. */
export const COMMAND_TIMEOUT_MS = 1500;
const CONNECT_TIMEOUT_MS = 2000;
/** Longer than any blocking read of ours (2 s). */
const SOCKET_TIMEOUT_MS = 5000;

const shared: RedisOptions = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  socketTimeout: SOCKET_TIMEOUT_MS,
  enableReadyCheck: true,
  retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, 1000),
};

export type ConnectionKind = 'producer' | 'consumer' | 'subscriber';

const OPTIONS: Readonly<Record<ConnectionKind, RedisOptions>> = {
  producer: {
    ...shared,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: COMMAND_TIMEOUT_MS,
  },
  consumer: { ...shared, enableOfflineQueue: true, maxRetriesPerRequest: null },
  subscriber: { ...shared, enableOfflineQueue: true, maxRetriesPerRequest: null, autoResubscribe: true },
};

/** Opens a connection. It connects by itself, now and after each loss, and never throws. */
export function openConnection(url: string, kind: ConnectionKind, logger: Logger): Redis {
  const redis = new Redis(url, { ...OPTIONS[kind], connectionName: `headgate-${kind}` });
  redis.on('error', quietly(logger, `redis ${kind}`));
  return redis;
}

/** Refuses what is not a Redis address, without repeating it: it may hold a password. */
export function assertRedisUrl(url: string): void {
  const protocol = URL.canParse(url) ? new URL(url).protocol : null;
  if (protocol !== 'redis:' && protocol !== 'rediss:') {
    throw new Error('REDIS_URL must look like redis://host:6379 or rediss://user:password@host:6380.');
  }
}

const REPEAT_AFTER_MS = 10_000;

/**
 * An error listener that logs each message at most every 10 s: a connection that is down says so at each try.
 * Without a listener on every queue, worker and connection an `error` event would end the process.
 */
export function quietly(logger: Logger, what: string): (error: Error) => void {
  const lastAt = new Map<string, number>();
  return (error) => {
    const now = performance.now();
    const last = lastAt.get(error.message);
    if (last !== undefined && now - last < REPEAT_AFTER_MS) return;
    if (lastAt.size > 100) lastAt.clear();
    lastAt.set(error.message, now);
    logger.warn({ err: error, what }, 'Redis trouble; hints are late, nothing is lost');
  };
}
