/**
 * A private Redis, or the one that REDIS_URL names, or none: Redis is a hint here, and doing without it costs
 * latency only. The same life as the private Postgres (postgres/server.ts), with nothing on disk to recover.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type DataFolder, openDataFolder } from '../data-folder.js';
import { EmbeddedError } from '../embedded-error.js';
import { type EmbeddedLogger, silentLogger } from '../logger.js';
import { chooseLoopbackPort, rememberedPort, rememberPort } from '../loopback-port.js';
import { sendSignal } from '../process/identity.js';
import { claimName, type PidClaim } from '../process/pid-file.js';
import { type ServerProcess, startServerProcess } from '../process/server-process.js';
import { fetchedRedis, fetchRedisByApt } from './apt.js';
import { type RedisBinary, redisOnPath } from './binary.js';
import { askRedis } from './wire.js';

const READY_WITHIN_MS = 20_000;
const LOOK_AGAIN_MS = 20;
/** Longer after each try that failed, to a limit: what ends at once would otherwise be started for ever at full speed. */
const COME_BACK_AFTER_MS = 500;
const COME_BACK_AT_MOST_MS = 30_000;
/** A port can be taken between our look and the server's bind. */
const START_TRIES = 5;

export interface RedisOptions {
  /** Headgate's data folder. */
  readonly dataDir: string;
  readonly logger?: EmbeddedLogger;
  /** A Redis to use instead; null for none. Default: REDIS_URL. */
  readonly url?: string | null;
  /** Where to look for a server. Default: PATH. */
  readonly path?: string;
  /** false: never ask the distribution's archive. Default true. */
  readonly mayFetch?: boolean;
  /** Where a fetched server is kept. Default: the data folder. */
  readonly fetchFolder?: string;
  /** Started again, empty, whenever it ends without having been asked to. Default false. */
  readonly comesBack?: boolean;
  /** Databases (`SELECT n`); Redis' own default is 16. */
  readonly databases?: number;
}

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** null while it is down and when the server was given to us. */
  readonly pid: number | null;
  /** Whether we started it. Only then may it be killed, restarted or emptied. */
  readonly isPrivate: boolean;
  readonly unavailable?: undefined;
  /** Stops it. Does nothing to a server that was given to us. */
  stop(): Promise<void>;
  /** Stops it if it runs and starts it again, empty, on the same port. */
  restart(): Promise<void>;
  kill9(): Promise<void>;
  /** Removes every key of every database. */
  flushAll(): Promise<void>;
}

/** No Redis. Both sentences are for people. */
export interface RedisUnavailable {
  readonly unavailable: string;
  readonly advice: string;
}

/**
 * Starts the private Redis of a data folder and returns once it answers. Having none is an expected outcome.
 *
 * @throws EmbeddedError IN_USE, START_FAILED
 */
export async function startRedis(options: RedisOptions): Promise<RedisServer | RedisUnavailable> {
  if (process.env['HEADGATE_NO_REDIS'] === '1') return without('HEADGATE_NO_REDIS is set.');
  const url = options.url === undefined ? process.env['REDIS_URL'] : options.url;
  if (url) return givenRedis(url);
  const logger = options.logger ?? silentLogger;
  const claim = await claimName(options.dataDir, 'redis', logger);
  try {
    const data = openDataFolder(options.dataDir);
    const found = await findRedis(options, data, logger);
    if (typeof found === 'string') {
      claim.release();
      return without(found);
    }
    const { databases = 16, comesBack = false } = options;
    const server = new PrivateRedis(data, found, claim, logger, { databases, comesBack });
    await server.start();
    return server;
  } catch (error) {
    claim.release();
    throw error;
  }
}

/** A server that runs here, or why there is none. */
async function findRedis(
  options: RedisOptions,
  data: DataFolder,
  logger: EmbeddedLogger,
): Promise<RedisBinary | string> {
  const folder = options.fetchFolder ?? join(data.redis, 'fetched');
  const found = redisOnPath(options.path) ?? fetchedRedis(folder);
  if (found) return found;
  const missing = 'There is no redis-server or valkey-server on the PATH';
  if (options.mayFetch === false) return `${missing}.`;
  logger.info({ folder }, 'fetching a private Redis from the distribution, once');
  const fetched = await fetchRedisByApt({ folder });
  return fetched.kind === 'fetched'
    ? fetched.binary
    : `${missing}, and none could be fetched privately (${fetched.why}).`;
}

function without(why: string): RedisUnavailable {
  const install =
    process.platform === 'darwin' ? 'brew install redis' : 'apt-get install redis-server (or valkey-server)';
  return {
    unavailable: why,
    advice: `Everything works without Redis, by asking the database: work starts up to a poll interval later. To add it: ${install}, or set REDIS_URL, and start again.`,
  };
}

function givenRedis(url: string): RedisServer {
  const notOurs = async (): Promise<never> => {
    throw new EmbeddedError(
      'NOT_OURS',
      'This Redis was given by REDIS_URL: it is not ours to stop or empty.',
    );
  };
  return {
    url,
    port: Number(new URL(url).port || 6379),
    pid: null,
    isPrivate: false,
    stop: async () => {},
    restart: notOurs,
    kill9: notOurs,
    flushAll: notOurs,
  };
}

/**
 * Whoever ends it (`#end`) first waits for a revival under way, so that no server starts behind its back; a revival
 * that sees that it is being ended starts none. Both run in this process only: the claim keeps others out.
 */
class PrivateRedis implements RedisServer {
  readonly isPrivate = true;
  /** Loopback is shared with every user of the machine. A new password at each start of Headgate is enough. */
  readonly #password = randomBytes(24).toString('hex');
  #port = 0;
  #server: ServerProcess | null = null;
  #isEnding = false;
  #revival: { readonly abort: AbortController; readonly over: Promise<void> } | null = null;

  constructor(
    private readonly data: DataFolder,
    private readonly binary: RedisBinary,
    private readonly claim: PidClaim,
    private readonly logger: EmbeddedLogger,
    private readonly wishes: { readonly databases: number; readonly comesBack: boolean },
  ) {}

  get port(): number {
    return this.#port;
  }
  get pid(): number | null {
    return this.#server === null || this.#server.hasExited() ? null : this.#server.pid;
  }
  get url(): string {
    return `redis://:${this.#password}@127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const portFile = join(this.data.redis, 'port');
    const logFile = join(this.data.logs, 'redis.log');
    let reason = '';
    for (let tries = 0; tries < START_TRIES; tries += 1) {
      // Once we have told a port to anybody, a restart must come back on it.
      const port = this.#port || (await chooseLoopbackPort(rememberedPort(portFile)));
      const server = await startServerProcess({
        program: this.binary.program,
        args: ['-'],
        // By standard input, so that the password is in no command line.
        input: this.#configuration(port),
        env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C', ...this.binary.env },
        cwd: this.data.redis,
        runAs: null,
        logFile,
        stopSignal: 'SIGTERM',
      });
      this.claim.note(server.pid, '-server', 'SIGTERM');
      if (await becomesReady(server, port, this.#password)) {
        this.#port = port;
        this.#server = server;
        this.#isEnding = false;
        rememberPort(portFile, port);
        this.#watch(server, logFile);
        this.logger.info({ port, pid: server.pid, program: this.binary.program }, 'redis is ready');
        return;
      }
      reason = server.logTail();
      await server.end();
      if (!reason.includes('Address already in use')) break;
    }
    this.claim.clear();
    throw new EmbeddedError('START_FAILED', `Redis did not start. Its log (${logFile}) ends:\n${reason}`);
  }

  async stop(): Promise<void> {
    await this.#end((server) => server.end());
    this.claim.release();
  }

  async restart(): Promise<void> {
    await this.#end((server) => server.end());
    await this.start();
  }

  async kill9(): Promise<void> {
    await this.#end(async (server) => {
      sendSignal(server.pid, 'SIGKILL');
      await server.exited;
    });
  }

  async flushAll(): Promise<void> {
    await askRedis({ port: this.#port, password: this.#password }, 'FLUSHALL');
  }

  async #end(how: (server: ServerProcess) => Promise<void>): Promise<void> {
    this.#isEnding = true;
    this.#revival?.abort.abort();
    await this.#revival?.over;
    const server = this.#server;
    if (server === null) return;
    // A revival that was past its last look has set it back.
    this.#isEnding = true;
    await how(server);
    this.#server = null;
    this.claim.clear();
  }

  #watch(server: ServerProcess, logFile: string): void {
    void server.exited.then(() => {
      if (this.#isEnding || this.#server !== server) return;
      this.logger.error({ pid: server.pid, log: logFile }, 'redis ended by itself');
      if (!this.wishes.comesBack) return;
      const abort = new AbortController();
      this.#revival = { abort, over: this.#revive(abort.signal) };
    });
  }

  async #revive(signal: AbortSignal): Promise<void> {
    this.#server = null;
    for (let waitMs = COME_BACK_AFTER_MS; ; waitMs = Math.min(2 * waitMs, COME_BACK_AT_MOST_MS)) {
      try {
        await delay(waitMs, null, { signal });
        if (this.#isEnding) return;
        await this.start();
        return;
      } catch (fault) {
        if (signal.aborted) return;
        this.logger.error({ err: fault }, 'redis did not come back; it is tried again');
      }
    }
  }

  #configuration(port: number): string {
    return [
      'bind 127.0.0.1',
      `port ${port}`,
      `requirepass ${this.#password}`,
      'maxmemory-policy noeviction',
      'save ""',
      'appendonly no',
      `databases ${this.wishes.databases}`,
      `dir "${this.data.redis}"`,
      '',
    ].join('\n');
  }
}

async function becomesReady(server: ServerProcess, port: number, password: string): Promise<boolean> {
  const giveUpAtMs = performance.now() + READY_WITHIN_MS;
  while (!server.hasExited() && performance.now() < giveUpAtMs) {
    // A stranger on our port does not know our password, so it is not taken for our server.
    const answered = await askRedis({ port, password }, 'PING').then(
      (said) => said === 'PONG',
      () => false,
    );
    if (answered && !server.hasExited()) return true;
    await delay(LOOK_AGAIN_MS);
  }
  return false;
}
