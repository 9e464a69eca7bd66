/**
 * The hint bus over BullMQ and Redis: puts the parts together and owns their lives.
 *
 * Connections: one producer and one subscriber per bus, and per consumer one shared and one blocking per queue.
 * A timer sends a ping each second, judges health, and keeps the subscriber's socket honest.
 */
import type { Clock } from '@headgate/domain';
import type { Logger } from '@headgate/telemetry';
import type { RedisAnswer } from './answer.js';
import { openConnection } from './connections.js';
import { HealthMonitor } from './health-monitor.js';
import type { Hint } from './hint.js';
import type {
  ConsumeOptions,
  Consumer,
  HintBus,
  HintHealth,
  HintObserver,
  WakePayloads,
  WakeTopic,
} from './hint-bus.js';
import { HintConsumer } from './hint-consumer.js';
import { HintQueues } from './hint-queues.js';
import { HintSource } from './hint-source.js';
import { countHints, flushOwnKeys, type InspectionParts, listHints, removeHint } from './inspection.js';
import { ProducerLink } from './producer-link.js';
import { publishHints } from './publisher.js';
import { checkRedis } from './redis-check.js';
import { WakeUps } from './wake-ups.js';

export interface BusTiming {
  readonly pingEveryMs: number;
  /** Hints are unhealthy after so long without a ping or a hint. */
  readonly unhealthyAfterMs: number;
  /** How long one blocking read waits. Below `unhealthyAfterMs`, or an idle queue would look silent. */
  readonly blockMs: number;
}

export interface BullBusParts {
  readonly url: string;
  readonly keyPrefix: string;
  readonly instance: string;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly observe: HintObserver;
  readonly timing: BusTiming;
}

const DEFAULT_GRACE_MS = 1000;
const QUEUE_CLOSE_MS = 500;

export class BullBus implements HintBus {
  readonly queues: HintQueues;
  readonly #link: ProducerLink;
  readonly #wakeUps: WakeUps;
  readonly #health: HealthMonitor;
  readonly #healthListeners = new Set<(health: HintHealth) => void>();
  readonly #consumers = new Set<HintConsumer>();
  readonly #inspection: InspectionParts;
  readonly #timer: NodeJS.Timeout;
  #pings = 0;
  #isPinging = false;
  #closing: Promise<void> | null = null;

  constructor(private readonly parts: BullBusParts) {
    const { url, keyPrefix, logger, clock } = parts;
    this.#link = new ProducerLink(url, logger);
    this.queues = new HintQueues(this.#link, keyPrefix, logger);
    this.#inspection = { link: this.#link, queues: this.queues, keyPrefix, clock };
    this.#health = new HealthMonitor({
      clock,
      unhealthyAfterMs: parts.timing.unhealthyAfterMs,
      silentQueues: (limitMs) => [...this.#consumers].flatMap((consumer) => consumer.silentQueues(limitMs)),
      onChange: (health) => this.#healthChanged(health),
    });
    this.#wakeUps = new WakeUps({
      url,
      link: this.#link,
      keyPrefix,
      logger,
      onDropped: (topic) => parts.observe({ kind: 'wake-dropped', topic }),
    });
    this.#wakeUps.listen('ping', ({ instance, sequence }) => {
      if (instance === parts.instance) this.#health.pingAnswered(sequence);
    });
    // Health is known some milliseconds after the start or a reconnect, not at the next tick.
    this.#link.redis.on('ready', () => void this.#ping());
    this.#wakeUps.redis.on('ready', () => void this.#ping());
    this.#timer = setInterval(() => this.#tick(), parts.timing.pingEveryMs);
    this.#timer.unref();
  }

  publish(hints: readonly Hint[]) {
    return publishHints(
      { link: this.#link, queues: this.queues, clock: this.parts.clock, observe: this.parts.observe },
      hints,
    );
  }

  consume(options: ConsumeOptions): Consumer {
    if (this.#closing !== null) throw new Error('The hint bus is closed.');
    const { url, keyPrefix, logger, clock, observe, instance, timing } = this.parts;
    const redis = openConnection(url, 'consumer', logger);
    const serial = this.#consumers.size;
    const consumer = new HintConsumer(
      {
        clock,
        logger,
        observe,
        disconnect: () => redis.disconnect(),
        onHint: () => this.#health.hintReceived(),
        openSource: (queueKey) =>
          new HintSource({
            queueKey,
            keyPrefix,
            redis,
            blockMs: timing.blockMs,
            instance: `${instance}.${serial}`,
            logger,
            onUnreadable: (jobId) =>
              observe({ kind: 'dropped', queue: queueKey, reason: 'malformed', jobId }),
          }),
      },
      options,
    );
    this.#consumers.add(consumer);
    return consumer;
  }

  async wake<T extends WakeTopic>(topic: T, payload: WakePayloads[T]): Promise<void> {
    await this.#wakeUps.send(topic, payload);
  }

  onWake<T extends WakeTopic>(topic: T, listener: (payload: WakePayloads[T]) => void): () => void {
    return this.#wakeUps.listen(topic, listener);
  }

  health(): HintHealth {
    return this.#health.evaluate();
  }

  onHealthChange(listener: (health: HintHealth) => void): () => void {
    this.#healthListeners.add(listener);
    return () => {
      this.#healthListeners.delete(listener);
    };
  }

  listHints(queue: string, limit: number) {
    return listHints(this.#inspection, queue, limit);
  }

  removeHint(queue: string, jobId: string) {
    return removeHint(this.#inspection, queue, jobId);
  }

  counts(queue: string) {
    return countHints(this.#inspection, queue);
  }

  /** Whether Redis answers this process now. */
  ping(): Promise<RedisAnswer<string>> {
    return this.#link.run((redis) => redis.ping());
  }

  checkRedis() {
    return checkRedis(this.#link, this.parts.clock);
  }

  flushOwnKeys() {
    return flushOwnKeys(this.#inspection);
  }

  close(options: { readonly graceMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#close(options.graceMs ?? DEFAULT_GRACE_MS);
    return this.#closing;
  }

  #tick(): void {
    this.#health.evaluate();
    this.#wakeUps.keepAlive();
    void this.#ping();
  }

  /**
   * Also the probe that finds out whether a stuck producer link answers again: one at a time, and while the link is
   * stuck the next follows at once, so that one is always under way and Redis' first answer ends the trouble.
   */
  async #ping(): Promise<void> {
    if (this.#isPinging) return;
    this.#isPinging = true;
    try {
      do {
        const sequence = this.#pings++;
        this.#health.pingSent(sequence);
        await this.#wakeUps.send('ping', { instance: this.parts.instance, sequence }, { probe: true });
      } while (this.#link.isStuck && this.#closing === null);
    } finally {
      this.#isPinging = false;
    }
  }

  #healthChanged(health: HintHealth): void {
    const line = { state: health.state, reason: health.reason };
    if (health.state === 'healthy') this.parts.logger.info(line, 'Hints are healthy');
    else this.parts.logger.warn(line, 'Hints are unhealthy; workers poll the database');
    this.parts.observe({ kind: 'health', health });
    for (const listener of [...this.#healthListeners]) {
      try {
        listener(health);
      } catch (error) {
        this.parts.logger.error({ err: error }, 'A listener for hint health failed');
      }
    }
  }

  async #close(graceMs: number): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#consumers].map((consumer) => consumer.close({ graceMs })));
    await this.queues.close(QUEUE_CLOSE_MS);
    this.#link.close();
    this.#wakeUps.close();
  }
}
