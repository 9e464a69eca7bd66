/** Partitions are made ahead and dropped when they are old; what was remembered for a time is forgotten. */
import { deliveries, idempotencyKeys, isTransient, partitions, touches } from '@headgate/store';
import type { Job, JobParts } from '../job.js';

/** A chain of our runs that is older than this has come to its end. */
const TOUCHED_DAYS = 90;

export const partitionsKept: Job = {
  name: 'partitions',
  repairs:
    'The append-only tables need a partition for the months to come, and none for those behind retention.',
  reasonCodes: [],
  period: 'housekeeping',
  limit: 1,
  make: (parts) => async () => {
    const made = await parts.context.database.service.transaction((c) => partitions.ensure(c));
    const dropped = await dropOld(parts);
    if (made > 0 || dropped.length > 0) parts.context.logger.info({ made, dropped }, 'partitions kept');
    return 'idle';
  },
};

/** Not at all when the table is busy: the next round is soon enough. */
async function dropOld({ context }: JobParts): Promise<readonly string[]> {
  const { retentionDays } = context.policy.current().policy;
  try {
    return await context.database.service.transaction((c) => partitions.dropOld(c, retentionDays), {
      retries: 0,
    });
  } catch (fault) {
    if (!isTransient(fault)) throw fault;
    context.logger.info({ err: fault }, 'old partitions are in use; they are dropped later');
    return [];
  }
}

export const forgetExpired: Job = {
  name: 'forget-expired',
  repairs: 'Deliveries, idempotency keys and what people touched are remembered for as long as was promised.',
  reasonCodes: [],
  period: 'repair',
  limit: 5_000,
  make:
    ({ context, limit }) =>
    async () => {
      const forgotten = await context.database.service.use(async (c) => [
        await deliveries.forgetExpired(c, limit),
        await idempotencyKeys.forgetExpired(c, limit),
        await touches.forgetOlderThan(c, limit, TOUCHED_DAYS),
      ]);
      return forgotten.some((count) => count >= limit) ? 'busy' : 'idle';
    },
};
