/** The gauges of the queues, read when they are scraped, by one bounded statement for both. */
import { type Pool, type QueueDepth, queueDepths } from '@headgate/store';
import { metrics } from '@headgate/telemetry';

/** Items looked at in one scrape. A deeper queue shows as this deep, which is alarm enough. */
const MOST_ITEMS = 50_000;
/** Two gauges of one scrape share a reading. */
const SHARED_MS = 500;

/** Returns what ends them. */
export function observeQueues(pool: Pool): (() => void)[] {
  let reading: Promise<readonly QueueDepth[]> | null = null;
  const read = (): Promise<readonly QueueDepth[]> => {
    if (reading === null) {
      reading = pool.use((c) => queueDepths(c, MOST_ITEMS));
      setTimeout(() => {
        reading = null;
      }, SHARED_MS).unref();
    }
    return reading;
  };
  return [
    metrics.queueDepth.observe(async () =>
      (await read()).map(({ queue, state, items }) => ({
        value: items,
        labels: { queue_name: queue, state },
      })),
    ),
    metrics.queueOldestReadyAge.observe(async () =>
      (await read())
        .filter(({ state }) => state === 'ready')
        .map(({ queue, oldestAgeSeconds }) => ({ value: oldestAgeSeconds, labels: { queue_name: queue } })),
    ),
  ];
}
