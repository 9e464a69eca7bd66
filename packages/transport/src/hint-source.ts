/**
 * One queue's hints, fetched by hand from BullMQ.
 *
 * A BullMQ Worker with a processor takes jobs whenever it likes and answers for them as long as they run. Ours
 * takes one when asked, and finishes it once it has been handed over (docs/adr/0003-short-hints.md), so the
 * lock is short and never renewed. A process that dies in between leaves an active job; the stalled check of any
 * consumer of the queue puts it back after `LOCK_MS` to `LOCK_MS + STALLED_EVERY_MS`. Until then BullMQ drops a
 * hint that is sent again under the same id, which is why these are seconds and not BullMQ's half minute.
 */
import type { Logger } from '@headgate/telemetry';
import { Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { quietly } from './connections.js';
import type { HintJob } from './hint.js';
import { queueNameOf } from './names.js';
import { within } from './within.js';

const LOCK_MS = 5000;
const STALLED_EVERY_MS = 5000;
/** A stall is harmless here; a job beyond this is handed out once more and then finished like any other. */
const MAX_STALLED = 3;
const FORCED_CLOSE_MS = 500;

/** A hint that is ours until it is finished or given back. Neither ever rejects. */
export interface FetchedHint {
  readonly jobId: string;
  readonly content: HintJob;
  /** Ends the job. One that is gone (FLUSHALL) or stalled needs no ending. */
  finish(): void;
  /** Puts the job back at the head of its queue for whoever has room. */
  giveBack(): void;
}

/** What a consumer needs of a queue. */
export interface HintSupply {
  /** The next hint; null if none came for a while. While Redis is away it waits for it. */
  next(): Promise<FetchedHint | null>;
  /** Up to `count` hints that wait now, in one round trip. */
  more(count: number): Promise<readonly FetchedHint[]>;
  /** Makes a waiting `next` answer now. */
  interrupt(): void;
  /** Settles when everything finished or given back so far has reached Redis. */
  settled(): Promise<void>;
  /** Cuts the connections, within half a second. */
  close(): Promise<void>;
}

export interface HintSourceParts {
  readonly queueKey: string;
  readonly keyPrefix: string;
  /** Shared by the sources of a consumer; each adds one connection of its own for blocking reads. */
  readonly redis: Redis;
  /** How long `next` waits for a hint before it answers null. */
  readonly blockMs: number;
  /** Unique among all consumers: the lock tokens are made from it. */
  readonly instance: string;
  readonly logger: Logger;
  /** A job that not even BullMQ can read was removed. */
  readonly onUnreadable: (jobId: string | null) => void;
}

export class HintSource implements HintSupply {
  readonly #worker: Worker;
  readonly #unfinished = new Set<Promise<void>>();
  #tokens = 0;
  #isEnding = false;

  constructor(private readonly parts: HintSourceParts) {
    this.#worker = new Worker(queueNameOf(parts.queueKey), null, {
      connection: parts.redis,
      prefix: parts.keyPrefix,
      autorun: false,
      drainDelay: parts.blockMs / 1000,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_EVERY_MS,
      maxStalledCount: MAX_STALLED,
      skipLockRenewal: true,
      // Also for jobs that others made without these options.
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    const complain = quietly(parts.logger, `consumer of queue ${parts.queueKey}`);
    // Cutting a blocking read is an error to BullMQ, and the way to end to us.
    this.#worker.on('error', (error) => (this.#isEnding ? undefined : complain(error)));
    void this.#worker.startStalledCheckTimer();
  }

  next(): Promise<FetchedHint | null> {
    return this.#fetch(true);
  }

  async more(count: number): Promise<readonly FetchedHint[]> {
    const fetched = await Promise.all(Array.from({ length: count }, () => this.#fetch(false)));
    return fetched.filter((hint) => hint !== null);
  }

  interrupt(): void {
    this.#isEnding = true;
    void within(FORCED_CLOSE_MS, this.#worker.getBackend().disconnectBlocking(false));
  }

  async settled(): Promise<void> {
    await Promise.all(this.#unfinished);
  }

  /** Forced: otherwise it would wait for Redis, dead or not. */
  async close(): Promise<void> {
    this.#isEnding = true;
    await within(FORCED_CLOSE_MS, this.#worker.close(true));
  }

  async #fetch(block: boolean): Promise<FetchedHint | null> {
    const token = `${this.parts.instance}:${this.#tokens++}`;
    try {
      const job = await this.#worker.getNextJob(token, { block });
      if (job === undefined) return null;
      return {
        jobId: job.id ?? '',
        content: { id: job.id, name: job.name, data: job.data, publishedAtMs: job.timestamp },
        finish: () => this.#track('finish', job.moveToCompleted(null, token, false)),
        giveBack: () => this.#track('give back', job.moveToWait(token)),
      };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      this.parts.onUnreadable(await this.#removeUnreadable(token));
      return null;
    }
  }

  /** BullMQ took a job, then could not parse it and did not say which: it is the one that our token locks. */
  async #removeUnreadable(token: string): Promise<string | null> {
    const worker = this.#worker;
    const active = await this.parts.redis.lrange(worker.toKey('active'), 0, 199);
    const locks = await Promise.all(
      active.map((jobId) => this.parts.redis.get(`${worker.toKey(jobId)}:lock`)),
    );
    const jobId = active.find((_, index) => locks[index] === token);
    if (jobId === undefined) return null;
    await new Job(worker, 'unreadable', {}, {}, jobId).moveToCompleted(null, token, false);
    return jobId;
  }

  #track(what: string, work: Promise<unknown>): void {
    const tracked = work.then(
      () => {},
      (error: unknown) => {
        this.parts.logger.debug(
          { err: error, queue: this.parts.queueKey },
          `Could not ${what} a hint; it may come again`,
        );
      },
    );
    this.#unfinished.add(tracked);
    void tracked.finally(() => this.#unfinished.delete(tracked));
  }
}
