/** Messages that the product did not write, or not so: duplicates, inventions, relics. */
import { DEFAULT_PREFIX, queueNameOf } from '@headgate/transport';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';

export interface ForeignJob {
  /** Of the job; a hint that is taken seriously has `{run_…}-{dispatch number}`. */
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Default `hint`. */
  readonly name?: string;
  /** When it claims to have been published, by the wall clock. */
  readonly publishedAtMs?: number;
}

export async function injectJobs(
  redisUrl: string,
  queue: string,
  jobs: readonly ForeignJob[],
): Promise<void> {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: 1 });
  const target = new Queue(queueNameOf(queue), { connection, prefix: DEFAULT_PREFIX });
  try {
    await target.addBulk(
      jobs.map(({ id, data, name = 'hint', publishedAtMs }) => ({
        name,
        data,
        opts: {
          jobId: id,
          removeOnComplete: true,
          removeOnFail: true,
          ...(publishedAtMs === undefined ? {} : { timestamp: publishedAtMs }),
        },
      })),
    );
  } finally {
    await target.close();
    connection.disconnect();
  }
}
