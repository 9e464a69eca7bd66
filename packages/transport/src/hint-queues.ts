/** The BullMQ queues of one bus, made on first use, all on the producer's connection. */
import type { Logger } from '@headgate/telemetry';
import { Queue } from 'bullmq';
import { quietly } from './connections.js';
import { type HintData, MAX_HINT_BYTES } from './hint.js';
import { queueNameOf } from './names.js';
import type { ProducerLink } from './producer-link.js';
import { within } from './within.js';

export type HintQueue = Queue<HintData, null, string>;

/** Events are for Bull Board only; nothing of ours reads them. */
const EVENTS_KEPT = 1000;

export class HintQueues {
  readonly #byName = new Map<string, HintQueue>();

  constructor(
    private readonly link: ProducerLink,
    private readonly keyPrefix: string,
    private readonly logger: Logger,
  ) {}

  /** The queue of a queue id. */
  of(queueKey: string): HintQueue {
    const name = queueNameOf(queueKey);
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const queue: HintQueue = new Queue(name, {
      connection: this.link.redis,
      prefix: this.keyPrefix,
      // Both, or it hangs at boot or never recovers: the version is read once, and its failure is remembered.
      skipWaitingForReady: true,
      skipVersionCheck: true,
      streams: { events: { maxLen: EVENTS_KEPT } },
      defaultJobOptions: {
        attempts: 1,
        // A kept job would swallow the next hint with its id, in silence.
        removeOnComplete: true,
        removeOnFail: true,
        sizeLimit: MAX_HINT_BYTES,
      },
    });
    queue.on('error', quietly(this.logger, `queue ${name}`));
    this.#byName.set(name, queue);
    return queue;
  }

  /** Closing rejects on a dead connection: nobody needs to know. */
  async close(limitMs: number): Promise<void> {
    await Promise.all([...this.#byName.values()].map((queue) => within(limitMs, queue.close())));
  }
}
