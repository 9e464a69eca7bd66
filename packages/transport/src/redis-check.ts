/** What hurts later about a Redis server, found from one INFO (managed servers often refuse CONFIG GET). */
import type { Clock } from '@headgate/domain';
import type { RedisCheck, RedisProblem } from './hint-bus.js';
import type { ProducerLink } from './producer-link.js';

const MINIMUM = [5, 0] as const;
const RECOMMENDED = [6, 2] as const;
const NEARLY_FULL = 0.9;

export async function checkRedis(link: ProducerLink, clock: Clock): Promise<RedisCheck> {
  const startedMs = clock.monotonicMs();
  const answer = await link.run((redis) => redis.info(), { probe: true });
  if (!answer.ok) {
    return {
      state: 'unreachable',
      message: answer.message,
      advice: 'Start Redis or correct REDIS_URL. Until then workers poll the database; nothing is lost.',
    };
  }
  return judgeRedis(answer.value, clock.monotonicMs() - startedMs);
}

/** The judgement alone: `info` is the text of INFO. */
export function judgeRedis(info: string, pingMs: number): Extract<RedisCheck, { state: 'reachable' }> {
  const fields = parseInfo(info);
  const server = fields.has('dragonfly_version') ? 'dragonfly' : isValkey(fields) ? 'valkey' : 'redis';
  const version = fields.get(`${server}_version`) ?? fields.get('redis_version') ?? 'unknown';
  const maxmemoryPolicy = fields.get('maxmemory_policy') ?? null;
  const maxmemoryBytes = numberOf(fields.get('maxmemory'));
  const usedMemoryBytes = numberOf(fields.get('used_memory'));
  const problems = [
    server === 'redis' ? versionProblem(version) : null,
    evictionProblem(maxmemoryPolicy, maxmemoryBytes),
    memoryProblem(maxmemoryBytes, usedMemoryBytes),
    replicaProblem(fields.get('role')),
  ].filter((problem) => problem !== null);
  return {
    state: 'reachable',
    server,
    version,
    maxmemoryPolicy,
    maxmemoryBytes,
    usedMemoryBytes,
    pingMs,
    problems,
  };
}

function isValkey(fields: ReadonlyMap<string, string>): boolean {
  return fields.has('valkey_version') || fields.get('server_name') === 'valkey';
}

function parseInfo(info: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of info.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon > 0 && !line.startsWith('#')) fields.set(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return fields;
}

function numberOf(text: string | undefined): number | null {
  const value = text === undefined || text === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}

function versionProblem(version: string): RedisProblem | null {
  if (isOlder(version, MINIMUM)) {
    return {
      code: 'VERSION_TOO_OLD',
      severity: 'error',
      message: `Redis ${version} is too old for BullMQ; workers will only poll.`,
      advice: 'Upgrade to Redis 7, or Valkey 8.',
    };
  }
  if (isOlder(version, RECOMMENDED)) {
    return {
      code: 'VERSION_NOT_RECOMMENDED',
      severity: 'warning',
      message: `Redis ${version} works; BullMQ recommends 6.2 or later.`,
      advice: 'Upgrade to Redis 7, or Valkey 8.',
    };
  }
  return null;
}

function isOlder(version: string, [wantedMajor, wantedMinor]: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (!Number.isFinite(major) || !Number.isFinite(minor)) return false;
  return major < wantedMajor || (major === wantedMajor && minor < wantedMinor);
}

function evictionProblem(policy: string | null, maxmemoryBytes: number | null): RedisProblem | null {
  if (policy === null || policy === 'noeviction') return null;
  const isLimited = maxmemoryBytes === null || maxmemoryBytes > 0;
  return {
    code: 'EVICTION_POLICY',
    severity: isLimited ? 'error' : 'warning',
    message: isLimited
      ? `maxmemory-policy is ${policy}: under memory pressure Redis throws hints away, and runs start late.`
      : `maxmemory-policy is ${policy}; nothing is evicted only because maxmemory is not set.`,
    advice: 'redis-cli CONFIG SET maxmemory-policy noeviction, and the same in redis.conf.',
  };
}

function memoryProblem(maxmemoryBytes: number | null, usedMemoryBytes: number | null): RedisProblem | null {
  if (maxmemoryBytes === null || usedMemoryBytes === null || maxmemoryBytes === 0) return null;
  const used = usedMemoryBytes / maxmemoryBytes;
  if (used < NEARLY_FULL) return null;
  return {
    code: 'MEMORY_NEARLY_FULL',
    severity: 'warning',
    message: `Redis uses ${Math.round(used * 100)} % of maxmemory; when it is full, hints are refused and workers poll.`,
    advice: 'Raise maxmemory, or find what else fills this Redis (a waiting hint takes about 800 bytes).',
  };
}

function replicaProblem(role: string | undefined): RedisProblem | null {
  if (role !== 'slave' && role !== 'replica') return null;
  return {
    code: 'READ_ONLY_REPLICA',
    severity: 'error',
    message: 'REDIS_URL names a replica: nothing can be written there.',
    advice: 'Point REDIS_URL at the primary.',
  };
}
