import { systemClock } from '@headgate/domain';
import { afterAll, describe, expect, it } from 'vitest';
import { judgeRedis } from '../src/redis-check.js';
import { aBus } from './bus-fixture.js';
import { privateRedis } from './private-redis.js';

const redis = await privateRedis();
afterAll(() => redis.dispose());

const info = (fields: Readonly<Record<string, string>>) =>
  ['# Server', ...Object.entries(fields).map(([name, value]) => `${name}:${value}`)].join('\r\n');
const HEALTHY = { redis_version: '7.2.4', maxmemory_policy: 'noeviction', maxmemory: '0', role: 'master' };
const codes = (changes: Readonly<Record<string, string>>) =>
  judgeRedis(info({ ...HEALTHY, ...changes }), 1).problems.map(
    (problem) => `${problem.severity} ${problem.code}`,
  );

describe('checking Redis for doctor', () => {
  it('finds nothing wrong with a real server that evicts nothing, and warns of one that would', async () => {
    const { bus } = aBus(redis.url, { clock: systemClock });
    expect(await bus.checkRedis()).toMatchObject({
      state: 'reachable',
      server: 'redis',
      maxmemoryPolicy: 'noeviction',
      problems: [],
    });
    await redis.client().config('SET', 'maxmemory-policy', 'allkeys-lru', 'maxmemory', '100mb');
    expect(await bus.checkRedis()).toMatchObject({
      maxmemoryPolicy: 'allkeys-lru',
      maxmemoryBytes: 104_857_600,
      problems: [
        {
          code: 'EVICTION_POLICY',
          severity: 'error',
          advice: expect.stringMatching(/CONFIG SET maxmemory-policy noeviction/),
        },
      ],
    });
    await bus.close();
  });

  it.each<[Readonly<Record<string, string>>, readonly string[]]>([
    [{}, []],
    [{ redis_version: '4.0.14' }, ['error VERSION_TOO_OLD']],
    [{ redis_version: '6.0.16' }, ['warning VERSION_NOT_RECOMMENDED']],
    [{ redis_version: '6.2.0' }, []],
    [{ redis_version: 'next' }, []],
    [{ maxmemory_policy: 'volatile-lru' }, ['warning EVICTION_POLICY']],
    [{ maxmemory_policy: 'volatile-lru', maxmemory: '1000' }, ['error EVICTION_POLICY']],
    [{ maxmemory: '1000', used_memory: '900' }, ['warning MEMORY_NEARLY_FULL']],
    [{ maxmemory: '1000', used_memory: '899' }, []],
    [{ role: 'slave' }, ['error READ_ONLY_REPLICA']],
    [{ redis_version: '2.8', valkey_version: '8.0.1' }, []],
  ])('judges %j as %j', (changes, expected) => {
    expect(codes(changes)).toEqual(expected);
  });

  it('names Valkey and Dragonfly by their own versions', () => {
    expect(judgeRedis(info({ ...HEALTHY, valkey_version: '8.0.1' }), 1)).toMatchObject({
      server: 'valkey',
      version: '8.0.1',
    });
    expect(judgeRedis(info({ ...HEALTHY, dragonfly_version: 'df-v1.2' }), 1)).toMatchObject({
      server: 'dragonfly',
      version: 'df-v1.2',
    });
  });

  it('bears a server that tells nothing', () => {
    expect(judgeRedis('', 1)).toMatchObject({ version: 'unknown', maxmemoryPolicy: null, problems: [] });
  });
});
