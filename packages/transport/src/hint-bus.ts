/**
 * The port between Postgres and whoever may want to look at it now.
 *
 * Law 1: Postgres is truth, everything here is a hint. A lost message is found by polling (worker), by sending
 * again (dispatch, 5 s) or by taking back (30 s); a doubled, late or invented one meets the claim and changes
 * nothing. So no method throws because Redis is away, and each returns within a bound.
 */
import type { RunId } from '@headgate/domain';
import type { RedisAnswer } from './answer.js';
import type { Hint, ReceivedHint } from './hint.js';

export interface HintBus {
  /**
   * Hands hints over to Redis. Never throws; within 2 s if Redis has just frozen, in milliseconds otherwise.
   * `failed` counts the hints that were not confirmed: a time-out may still be stored later, which is harmless.
   */
  publish(hints: readonly Hint[]): Promise<PublishOutcome>;

  /** Starts to consume. See `Consumer`. */
  consume(options: ConsumeOptions): Consumer;

  /** Tells other processes that a look may be worth while now. Best effort; never throws. */
  wake<T extends WakeTopic>(topic: T, payload: WakePayloads[T]): Promise<void>;
  /** Calls `listener` for each wake-up heard; returns the function that ends it. Losing wake-ups must be harmless. */
  onWake<T extends WakeTopic>(topic: T, listener: (payload: WakePayloads[T]) => void): () => void;

  /** Whether hints can be relied upon for latency. Workers poll the database while it is not `healthy`. */
  health(): HintHealth;
  /** Calls `listener` at each change of `state`; returns the function that ends it. */
  onHealthChange(listener: (health: HintHealth) => void): () => void;

  /** Hints that wait in Redis, oldest first, at most `limit`. For the reconciler's Redis-to-database repair. */
  listHints(queue: string, limit: number): Promise<RedisAnswer<readonly WaitingHint[]>>;
  /** Removes a waiting hint; false when it was not there, or is being handed over just now. */
  removeHint(queue: string, jobId: string): Promise<RedisAnswer<boolean>>;
  counts(queue: string): Promise<RedisAnswer<HintCounts>>;
  /** What `headgate doctor` and readiness want to know about the server. */
  checkRedis(): Promise<RedisCheck>;
  /** Removes every key under our prefix, and no other; for demos and drills. Answers how many. */
  flushOwnKeys(): Promise<RedisAnswer<number>>;

  /** Ends consumers, then connections. Idempotent; returns within `graceMs` + 1.5 s even if Redis is dead. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

export interface PublishOutcome {
  readonly published: number;
  readonly failed: number;
}

export interface ConsumeOptions {
  /** Queue ids of the configuration. */
  readonly queues: readonly string[];
  /**
   * Free slots now: those that neither a lease nor a claim under way holds. Hints that were handed over and whose
   * `onHints` has not settled are subtracted by the consumer.
   */
  readonly wanted: () => number;
  /**
   * Takes a batch of at most `wanted()` hints; duplicates and stale ones among them are normal. Resolve it when
   * each has its slot or was refused. A rejection is logged; dispatch sends again.
   */
  readonly onHints: (hints: readonly ReceivedHint[]) => Promise<void>;
  /** How long the first hint of a batch waits for others. Default: while more are being fetched, and 2 at most. */
  readonly collectMs?: number;
}

/** Takes hints from its queues only while `wanted()` is positive. */
export interface Consumer {
  /** Takes no further hints; what arrives meanwhile goes back to its queue. */
  pause(): void;
  resume(): void;
  /** Says that `wanted()` may have grown. Without it the consumer looks again after 250 ms. */
  slotsChanged(): void;
  /**
   * Stops taking, gives collected hints back, waits up to `graceMs` for `onHints` to settle.
   * `clean` is false when something was cut off; BullMQ hands such a hint out again after some seconds.
   */
  close(options: { readonly graceMs: number }): Promise<{ readonly clean: boolean }>;
}

/** Wake-up topics and what they carry. */
export interface WakePayloads {
  /** For schedulers: a tenant (its small id) has something ready in a queue. */
  readonly ready: { readonly tenantId: number; readonly queue: string };
  /** For workers: a run's cancellation was requested; the next heartbeat would say so too. */
  readonly cancel: { readonly runId: RunId };
  /** For tickers: a person asked something of a schedule or a goal. */
  readonly timers: { readonly tenantId: number };
  /** Each bus hears its own, which is how it knows that the way is open. */
  readonly ping: { readonly instance: string; readonly sequence: number };
}
export type WakeTopic = keyof WakePayloads;

export interface HintHealth {
  /** absent: no Redis is configured, and never will be in this process. */
  readonly state: 'healthy' | 'unhealthy' | 'absent';
  /** Why, in words for people. */
  readonly reason: string;
  /** Since when the state is what it is. */
  readonly since: Date;
  readonly lastHintAt: Date | null;
  readonly lastPingAt: Date | null;
  /** Time between the last ping and its answer. */
  readonly lastPingMs: number | null;
}

export interface WaitingHint {
  readonly jobId: string;
  /** null: what lies there is not a hint. */
  readonly hint: ReceivedHint | null;
}

export interface HintCounts {
  readonly waiting: number;
  /** Being handed over now; for milliseconds. */
  readonly active: number;
  /** delayed, prioritised, failed, completed, paused: we make none of these; others can. */
  readonly foreign: number;
}

export interface RedisProblem {
  readonly code:
    | 'EVICTION_POLICY'
    | 'VERSION_TOO_OLD'
    | 'VERSION_NOT_RECOMMENDED'
    | 'READ_ONLY_REPLICA'
    | 'MEMORY_NEARLY_FULL';
  readonly severity: 'error' | 'warning';
  readonly message: string;
  /** The one thing to do. */
  readonly advice: string;
}

export type RedisCheck =
  | { readonly state: 'absent'; readonly advice: string }
  | { readonly state: 'unreachable'; readonly message: string; readonly advice: string }
  | {
      readonly state: 'reachable';
      readonly server: 'redis' | 'valkey' | 'dragonfly';
      readonly version: string;
      readonly maxmemoryPolicy: string | null;
      readonly maxmemoryBytes: number | null;
      readonly usedMemoryBytes: number | null;
      readonly pingMs: number;
      readonly problems: readonly RedisProblem[];
    };

/** What happened, for metrics and logs. Ids are for logs only, never labels. */
export type HintEvent =
  | {
      readonly kind: 'published';
      readonly queue: string;
      readonly count: number;
      readonly durationMs: number;
    }
  | {
      readonly kind: 'publish-failed';
      readonly queue: string;
      readonly count: number;
      readonly reason: 'invalid' | 'absent' | 'down' | 'frozen' | 'error';
    }
  | { readonly kind: 'received'; readonly queue: string; readonly count: number }
  | {
      readonly kind: 'dropped';
      readonly queue: string;
      readonly reason: 'malformed' | 'ancient';
      readonly jobId: string | null;
    }
  | { readonly kind: 'given-back'; readonly queue: string; readonly count: number }
  | { readonly kind: 'wake-dropped'; readonly topic: WakeTopic }
  | { readonly kind: 'health'; readonly health: HintHealth };
export type HintObserver = (event: HintEvent) => void;
