/** What hurts later about a Redis. */
import type { Settings } from '@headgate/config';
import { systemClock } from '@headgate/domain';
import type { Logger } from '@headgate/telemetry';
import { createHintBus } from '@headgate/transport';
import type { Connections } from '../instance/connections.js';
import { type Check, failed, ok, skipped, warning } from './check.js';

const INSTALL = 'Install redis-server or valkey-server, or set REDIS_URL.';

export async function checkRedisServer(
  settings: Settings,
  running: Connections | null,
  logger: Logger,
): Promise<readonly Check[]> {
  const url = settings.redisUrl ?? running?.redisUrl ?? null;
  if (url === null) {
    return [
      running === null
        ? skipped(
            'redis',
            'REDIS_URL is not set and no instance runs: "headgate up" brings a private Redis if it can',
          )
        : warning('redis', 'the instance runs without Redis: work starts up to a second later', INSTALL),
    ];
  }
  const bus = createHintBus({ url, logger, clock: systemClock });
  try {
    const found = await bus.checkRedis();
    if (found.state === 'absent') return [warning('redis', 'there is no Redis', found.advice)];
    if (found.state === 'unreachable') return [failed('redis', found.message, found.advice)];
    const problems = found.problems.map(({ severity, message, advice }) =>
      severity === 'error' ? failed('redis', message, advice) : warning('redis', message, advice),
    );
    const policy = found.maxmemoryPolicy === null ? '' : `, maxmemory-policy ${found.maxmemoryPolicy}`;
    return [
      ok('redis', `${found.server} ${found.version} answers in ${Math.round(found.pingMs)} ms${policy}`),
      ...problems,
    ];
  } finally {
    await bus.close({ graceMs: 100 });
  }
}
