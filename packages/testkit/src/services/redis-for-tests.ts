import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fetchedRedis, fetchRedisByApt, redisOnPath } from '@headgate/embedded';
import { REPOSITORY_ROOT } from './repository.js';

/** A Redis fetched for tests is kept with the clone, not with the data folder of one run. */
export const TEST_REDIS_FOLDER = join(REPOSITORY_ROOT, 'node_modules/.cache/headgate/redis');

/** Whether tests can have a Redis, without looking beyond this machine. */
export function hasTestRedis(): boolean {
  if (process.env['HEADGATE_NO_REDIS'] === '1') return false;
  return redisOnPath() !== null || fetchedRedis(TEST_REDIS_FOLDER) !== null;
}

/** Before the tests are collected: fetches one where the machine has none, so that they need not be skipped. */
export async function provideTestRedis(): Promise<void> {
  if (hasTestRedis() || process.env['HEADGATE_NO_REDIS'] === '1') return;
  mkdirSync(TEST_REDIS_FOLDER, { recursive: true });
  const outcome = await fetchRedisByApt({ folder: TEST_REDIS_FOLDER });
  if (outcome.kind === 'failed') console.error(`Tests that need Redis are skipped: ${outcome.why}`);
}
