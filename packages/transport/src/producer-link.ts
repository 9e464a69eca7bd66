/**
 * The one connection that asks Redis and wants an answer now: publishing, wake-ups, inspection, Bull Board.
 *
 * `run` is the only way through. It never throws and it is bounded. A frozen Redis (connected, silent) costs one
 * caller 1.5 s; from then on the link is *stuck* and answers `frozen` at once, until a ping, which goes through
 * as the probe, or a reconnect shows that Redis is back. Otherwise each dispatch tick would wait 1.5 s again and
 * the unanswered commands would pile up in memory.
 */
import type { Logger } from '@headgate/telemetry';
import type { Redis } from 'ioredis';
import type { RedisAnswer, Unavailable } from './answer.js';
import { COMMAND_TIMEOUT_MS, openConnection } from './connections.js';
import { within } from './within.js';

/** Above the command time-out: for answers that take several commands. */
const RUN_LIMIT_MS = COMMAND_TIMEOUT_MS + 500;
/** How long the very first caller waits for the very first connection. */
const FIRST_CONNECTION_MS = 500;

export class ProducerLink {
  readonly redis: Redis;
  readonly #firstTry: Promise<void>;
  #stuck = false;
  #closed = false;

  constructor(url: string, logger: Logger) {
    this.redis = openConnection(url, 'producer', logger);
    this.#firstTry = new Promise((resolve) => {
      this.redis.once('ready', resolve);
      this.redis.once('close', resolve);
    });
    this.redis.on('ready', () => {
      this.#stuck = false;
    });
  }

  /** Connected, and the last command had no answer. */
  get isStuck(): boolean {
    return this.#stuck && this.redis.status === 'ready';
  }

  /** Runs commands on the connection. `probe`: also when the link is stuck. */
  async run<T>(
    command: (redis: Redis) => Promise<T>,
    options: { readonly probe?: boolean } = {},
  ): Promise<RedisAnswer<T>> {
    if (this.#closed) return unavailable('down', 'The bus is closed.');
    if (this.redis.status !== 'ready') await within(FIRST_CONNECTION_MS, this.#firstTry);
    if (this.redis.status !== 'ready')
      return unavailable('down', `Redis is not connected (${this.redis.status}).`);
    if (this.#stuck && options.probe !== true) {
      return unavailable('frozen', 'Redis is connected and does not answer.');
    }
    const settled = await within(RUN_LIMIT_MS, (async () => command(this.redis))());
    switch (settled.kind) {
      case 'value':
        this.#stuck = false;
        return { ok: true, value: settled.value };
      case 'late':
        this.#stuck = true;
        return unavailable('frozen', `Redis did not answer within ${RUN_LIMIT_MS} ms.`);
      case 'error':
        return this.#failed(settled.error);
    }
  }

  #failed(error: Error): Unavailable {
    if (error.message === 'Command timed out') {
      this.#stuck = true;
      return unavailable('frozen', `Redis did not answer within ${COMMAND_TIMEOUT_MS} ms.`);
    }
    const lost =
      this.redis.status !== 'ready' ||
      /Stream isn't writeable|Connection is closed|ECONN|EPIPE/.test(error.message);
    return unavailable(lost ? 'down' : 'error', error.message);
  }

  /** Cuts the connection; what is in flight is rejected. */
  close(): void {
    this.#closed = true;
    this.redis.disconnect();
  }
}

const unavailable = (reason: Unavailable['reason'], message: string): Unavailable => ({
  ok: false,
  reason,
  message,
});
