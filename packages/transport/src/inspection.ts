/** What the reconciler, the console and demos may ask about the hints that lie in Redis. Reads are bounded. */
import type { Clock } from '@headgate/domain';
import type { RedisAnswer } from './answer.js';
import { decodeHint, type HintJob } from './hint.js';
import type { HintCounts, WaitingHint } from './hint-bus.js';
import type { HintQueues } from './hint-queues.js';
import { ownKeysPattern } from './names.js';
import type { ProducerLink } from './producer-link.js';

const MAX_LISTED = 1000;
const SCAN_COUNT = 500;
/** Longer than one sweep takes from listing a hint to removing it. */
const REMOVER_MARK_MS = 10_000;

export interface InspectionParts {
  readonly link: ProducerLink;
  readonly queues: HintQueues;
  readonly keyPrefix: string;
  readonly clock: Clock;
}

/**
 * Reads the list and the jobs' fields itself: BullMQ's getters parse each job and one that cannot be parsed would
 * hide all the others.
 */
export async function listHints(
  parts: InspectionParts,
  queueKey: string,
  limit: number,
): Promise<RedisAnswer<readonly WaitingHint[]>> {
  const count = Math.min(Math.max(0, Math.floor(limit)), MAX_LISTED);
  if (count === 0) return { ok: true, value: [] };
  return parts.link.run(async (redis) => {
    const queue = parts.queues.of(queueKey);
    // Jobs are pushed at the left and taken from the right.
    const jobIds = (await redis.lrange(queue.toKey('wait'), -count, -1)).reverse();
    if (jobIds.length === 0) return [];
    const pipeline = redis.pipeline();
    for (const jobId of jobIds) pipeline.hmget(queue.toKey(jobId), 'name', 'data', 'timestamp');
    const rows = (await pipeline.exec()) ?? [];
    const nowMs = parts.clock.now().getTime();
    return jobIds.map((jobId, index) => {
      const [error, fields] = rows[index] ?? [null, null];
      if (error) throw error;
      const decoded = decodeHint(queueKey, toJob(jobId, fields), nowMs);
      return { jobId, hint: decoded.kind === 'hint' ? decoded.hint : null };
    });
  });
}

function toJob(jobId: string, fields: unknown): HintJob {
  const [name, data, timestamp] = Array.isArray(fields) ? (fields as readonly (string | null)[]) : [];
  return {
    id: jobId,
    name: name ?? '',
    data: parseJson(data ?? ''),
    publishedAtMs: Number(timestamp ?? Number.NaN),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** BullMQ's `remove` says 1 for a job that was not there, and 0 for one that is locked: being handed over. */
export function removeHint(
  parts: InspectionParts,
  queueKey: string,
  jobId: string,
): Promise<RedisAnswer<boolean>> {
  return parts.link.run(async (redis) => {
    const queue = parts.queues.of(queueKey);
    // BullMQ answers 1 for a job that is not there (any more): of several removers one is let through, for as long
    // as the others may have listed the same hint.
    const mark = queue.toKey(`${jobId}:removed`);
    if ((await redis.set(mark, '1', 'PX', REMOVER_MARK_MS, 'NX')) !== 'OK') return false;
    if ((await redis.exists(queue.toKey(jobId))) === 0) return false;
    return (await queue.remove(jobId)) === 1;
  });
}

export function countHints(parts: InspectionParts, queueKey: string): Promise<RedisAnswer<HintCounts>> {
  return parts.link.run(async () => {
    const counts = await parts.queues.of(queueKey).getJobCounts();
    const { waiting = 0, active = 0, ...foreign } = counts;
    return { waiting, active, foreign: Object.values(foreign).reduce((sum, count) => sum + count, 0) };
  });
}

/** By SCAN and UNLINK, so that a shared Redis keeps serving others meanwhile. */
export async function flushOwnKeys(parts: InspectionParts): Promise<RedisAnswer<number>> {
  const pattern = ownKeysPattern(parts.keyPrefix);
  let removed = 0;
  let cursor = '0';
  do {
    const answer = await parts.link.run(async (redis) => {
      const [next, keys] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT);
      return { next, removed: keys.length === 0 ? 0 : await redis.unlink(...keys) };
    });
    if (!answer.ok) return answer;
    cursor = answer.value.next;
    removed += answer.value.removed;
  } while (cursor !== '0');
  return { ok: true, value: removed };
}
