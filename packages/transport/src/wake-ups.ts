/** Wake-ups over Redis pub/sub: kept nowhere, heard by whoever listens just then. */
import { formatId, parseId } from '@headgate/domain';
import type { Logger } from '@headgate/telemetry';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { openConnection } from './connections.js';
import type { WakePayloads, WakeTopic } from './hint-bus.js';
import { wakeChannelOf } from './names.js';
import type { ProducerLink } from './producer-link.js';

/** Each topic's payload on the wire: ids as TypeIDs. Anyone who reaches Redis can write there. */
const WIRE: {
  readonly [T in WakeTopic]: {
    readonly encode: (payload: WakePayloads[T]) => unknown;
    readonly decode: (wire: unknown) => WakePayloads[T] | null;
  };
} = {
  ready: codec(z.object({ tenantId: z.int().nonnegative(), queue: z.string().min(1).max(512) })),
  timers: codec(z.object({ tenantId: z.int().nonnegative() })),
  ping: codec(z.object({ instance: z.string().max(64), sequence: z.int().nonnegative() })),
  cancel: {
    encode: (payload) => ({ runId: formatId('run', payload.runId) }),
    decode: (wire) => {
      const parsed = z.object({ runId: z.string().max(64) }).safeParse(wire);
      const runId = parsed.success ? parseId('run', parsed.data.runId) : null;
      return runId === null ? null : { runId };
    },
  },
};

function codec<T>(schema: z.ZodType<T>) {
  return {
    encode: (payload: T): unknown => payload,
    decode: (wire: unknown): T | null => {
      const parsed = schema.safeParse(wire);
      return parsed.success ? parsed.data : null;
    },
  };
}

export interface WakeUpParts {
  readonly url: string;
  readonly link: ProducerLink;
  readonly keyPrefix: string;
  readonly logger: Logger;
  readonly onDropped: (topic: WakeTopic) => void;
}

type Listener = (message: string) => void;

export class WakeUps {
  /** The subscriber; a connection that subscribes can do nothing else. */
  readonly redis: Redis;
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(private readonly parts: WakeUpParts) {
    this.redis = openConnection(parts.url, 'subscriber', parts.logger);
    this.redis.on('message', (channel, message) => {
      for (const listener of [...(this.#listeners.get(channel) ?? [])]) listener(message);
    });
  }

  /** Best effort: what is lost is found by the next scan or heartbeat. Answers whether Redis took it. */
  async send<T extends WakeTopic>(
    topic: T,
    payload: WakePayloads[T],
    options?: { probe: boolean },
  ): Promise<boolean> {
    const channel = wakeChannelOf(this.parts.keyPrefix, topic);
    const answer = await this.parts.link.run(
      (redis) => redis.publish(channel, JSON.stringify(WIRE[topic].encode(payload))),
      options,
    );
    return answer.ok;
  }

  listen<T extends WakeTopic>(topic: T, listener: (payload: WakePayloads[T]) => void): () => void {
    const channel = wakeChannelOf(this.parts.keyPrefix, topic);
    const onMessage: Listener = (message) => {
      const payload = WIRE[topic].decode(parseJson(message));
      if (payload === null) {
        this.parts.logger.warn({ topic }, 'Dropped a wake-up that cannot be read');
        this.parts.onDropped(topic);
        return;
      }
      try {
        listener(payload);
      } catch (error) {
        this.parts.logger.error({ err: error, topic }, 'A listener for wake-ups failed');
      }
    };
    const listeners = this.#listeners.get(channel);
    if (listeners !== undefined) listeners.add(onMessage);
    else {
      this.#listeners.set(channel, new Set([onMessage]));
      this.redis.subscribe(channel).catch((error: unknown) => {
        this.parts.logger.warn({ err: error, topic }, 'Could not listen for wake-ups');
      });
    }
    return () => {
      this.#listeners.get(channel)?.delete(onMessage);
    };
  }

  /** Makes the subscriber's socket owe an answer, so that a black hole is noticed: it only ever reads otherwise. */
  keepAlive(): void {
    if (this.redis.status === 'ready') this.redis.ping().catch(() => {});
  }

  close(): void {
    this.redis.disconnect();
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
