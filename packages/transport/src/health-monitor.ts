/**
 * Whether hints can be relied upon: judged by answers, not by what a client believes about itself. BullMQ said
 * `isRunning()` through hours in which it fetched nothing.
 *
 * Healthy means: within the last `unhealthyAfterMs`, by the monotonic clock, a ping came back through Redis (out by
 * the producer's connection, in by the subscriber's) or a hint was handed over, and every consumer loop that asked
 * Redis for a hint had an answer (each asks at least every 2 s).
 */
import type { Clock } from '@headgate/domain';
import type { HintHealth } from './hint-bus.js';

export interface HealthParts {
  readonly clock: Clock;
  readonly unhealthyAfterMs: number;
  /** Queues whose consumer loop has been without an answer for so long. */
  readonly silentQueues: (limitMs: number) => readonly string[];
  readonly onChange: (health: HintHealth) => void;
}

export class HealthMonitor {
  readonly #startedMs: number;
  #isHealthy = false;
  #reason = 'Redis has not answered yet';
  #since: Date;
  #lastContactMs: number | null = null;
  #lastHintAt: Date | null = null;
  #lastPingAt: Date | null = null;
  #lastPingMs: number | null = null;
  readonly #sentMs = new Map<number, number>();

  constructor(private readonly parts: HealthParts) {
    this.#startedMs = parts.clock.monotonicMs();
    this.#since = parts.clock.now();
  }

  pingSent(sequence: number): void {
    this.#sentMs.set(sequence, this.parts.clock.monotonicMs());
    for (const old of this.#sentMs.keys()) {
      if (this.#sentMs.size <= 16) break;
      this.#sentMs.delete(old);
    }
  }

  pingAnswered(sequence: number): void {
    const sentMs = this.#sentMs.get(sequence);
    if (sentMs === undefined) return;
    this.#sentMs.delete(sequence);
    const nowMs = this.parts.clock.monotonicMs();
    this.#lastPingMs = nowMs - sentMs;
    // A ping that Redis held back for longer than the limit shows that it is back, so it counts from now.
    this.#lastContactMs = nowMs;
    this.#lastPingAt = this.parts.clock.now();
    this.evaluate();
  }

  hintReceived(): void {
    this.#lastContactMs = this.parts.clock.monotonicMs();
    this.#lastHintAt = this.parts.clock.now();
  }

  /** Judges anew; calls `onChange` if the state changed. */
  evaluate(): HintHealth {
    const trouble = this.#trouble();
    const isHealthy = trouble === null;
    this.#reason = trouble ?? 'Redis answers';
    if (isHealthy !== this.#isHealthy) {
      this.#isHealthy = isHealthy;
      this.#since = this.parts.clock.now();
      this.parts.onChange(this.#snapshot());
    }
    return this.#snapshot();
  }

  #trouble(): string | null {
    const limitMs = this.parts.unhealthyAfterMs;
    const nowMs = this.parts.clock.monotonicMs();
    if (this.#lastContactMs === null) {
      return `Redis has not answered since the start ${seconds(nowMs - this.#startedMs)} ago`;
    }
    const silentMs = nowMs - this.#lastContactMs;
    if (silentMs > limitMs) return `Neither a ping nor a hint for ${seconds(silentMs)}`;
    const silent = this.parts.silentQueues(limitMs);
    if (silent.length > 0) return `No answer from Redis for the queues ${silent.join(', ')}`;
    return null;
  }

  #snapshot(): HintHealth {
    return {
      state: this.#isHealthy ? 'healthy' : 'unhealthy',
      reason: this.#reason,
      since: this.#since,
      lastHintAt: this.#lastHintAt,
      lastPingAt: this.#lastPingAt,
      lastPingMs: this.#lastPingMs,
    };
  }
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
