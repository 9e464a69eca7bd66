/** Partitions are made ahead and dropped when they are old; what was remembered for a time is forgotten. */
import {
  approvals,
  deliveries,
  feedback,
  idempotencyKeys,
  isTransient,
  observations,
  partitions,
  redeliveries,
  scheduleRequests,
  scheduleTicks,
  sourceFacts,
  type TaskSignalKey,
  taskSignals,
  touches,
} from '@headgate/store';
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

/** A fact that whole looks have not shown for so long is forgotten: the branch, the pull request is gone. */
const FORGET_FACTS_DAYS = 30;

export const forgetUnseen: Job = {
  name: 'forget-unseen',
  repairs: 'What sources no longer show, and redeliveries that their forge has long forgotten.',
  reasonCodes: [],
  period: 'housekeeping',
  limit: 1,
  make:
    ({ context }) =>
    async () => {
      await context.database.service.use(async (c) => {
        await sourceFacts.forget(c, FORGET_FACTS_DAYS);
        await redeliveries.forget(c);
      });
      return 'idle';
    },
};

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

/**
 * What is kept by `retention.history` and is no partition. In steps, each a statement of its own, so that months of it
 * hold up nobody; while there is more the job goes on at once. What is trimmed is counted elsewhere: totals of a
 * schedule in schedule_count, those of a goal on its row.
 */
export const historyTrimmed: Job = {
  name: 'history',
  repairs:
    'Ticks, requests of schedules, observations, and what people were told and said are kept for their days, the newest always.',
  reasonCodes: [],
  period: 'housekeeping',
  limit: 2_000,
  make:
    ({ context, limit }) =>
    async () => {
      const { history, receipts } = context.policy.current().policy.retentionDays;
      const trimmed = await context.database.service.use(async (c) => [
        await scheduleTicks.forget(c, limit, history),
        await scheduleRequests.forget(c, limit, history),
        await observations.forget(c, limit, history),
        await feedback.forget(c, limit, receipts),
        await approvals.forget(c, limit, receipts),
      ]);
      return trimmed.some((count) => count >= limit) ? 'busy' : 'idle';
    },
};

/** Signals of tasks that name receipts which retention has dropped: page by page along the table, then a rest. */
export const signalsTrimmed: Job = {
  name: 'task-signals',
  repairs: 'What a task attracted is kept as long as the receipts that tell of it.',
  reasonCodes: [],
  period: 'housekeeping',
  limit: 5_000,
  make: ({ context, limit }) => {
    let from: TaskSignalKey | null = null;
    return async () => {
      const { receipts } = context.policy.current().policy.retentionDays;
      from = await context.database.service.use((c) =>
        taskSignals.forget(c, { from, limit, days: receipts }),
      );
      return from === null ? 'idle' : 'busy';
    };
  },
};
