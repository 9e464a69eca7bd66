/**
 * A private Postgres, or the one that DATABASE_URL names.
 *
 * One start at a time per data folder: the pid file `postgres` is claimed first (process/pid-file.ts) and held
 * until `stop`. What a SIGKILL leaves: a server that the kernel was told to stop with us (Linux), or that the
 * next claim ends; a postmaster.pid that the next start removes; a draft cluster that it erases; and a cluster
 * that Postgres itself recovers from its log.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { openDataFolder } from '../data-folder.js';
import { EmbeddedError } from '../embedded-error.js';
import { type EmbeddedLogger, silentLogger } from '../logger.js';
import { chooseLoopbackPort, rememberedPort, rememberPort } from '../loopback-port.js';
import { childrenOf, identify, isAlive, type ProcessIdentity, sendSignal } from '../process/identity.js';
import { claimName, type PidClaim } from '../process/pid-file.js';
import { type ServerProcess, startServerProcess } from '../process/server-process.js';
import { unprivilegedUser } from '../process/unprivileged.js';
import { type BinarySearch, defaultBinarySearch, findPostgres, type PostgresBinaries } from './binaries.js';
import {
  type Credentials,
  clusterMajor,
  DATABASE_NAME,
  ensureCluster,
  OWNER_ROLE,
  postgresEnv,
  SUPERUSER_ROLE,
} from './cluster.js';
import { erasePostgresHome, openPostgresHome, type PostgresHome } from './home.js';
import { clearPostmasterFile, isPostmasterReady } from './postmaster-file.js';

/** Recovery after a kill replays at most a few checkpoints of log. */
const READY_WITHIN_MS = 120_000;
const LOOK_AGAIN_MS = 20;
/** A port can be taken between our look and the server's bind; a killed server's memory can outlive it a moment. */
const START_TRIES = 40;
const RETRY_AFTER_MS = 100;

export interface PostgresOptions {
  /** Headgate's data folder. */
  readonly dataDir: string;
  readonly logger?: EmbeddedLogger;
  /** A Postgres to use instead; null for none. Default: DATABASE_URL. */
  readonly url?: string | null;
  /** false switches fsync and synchronous_commit off, and may keep it in memory: for tests that do not ask what a crash leaves. */
  readonly durable?: boolean;
  readonly maxConnections?: number;
  readonly binaries?: BinarySearch;
}

export interface PostgresServer {
  /** Connection string of the owner: may make roles and databases, owns `headgate`, is no superuser. */
  readonly url: string;
  /** For doing what an owner may not; null when the server was given to us. */
  readonly superuserUrl: string | null;
  readonly port: number;
  /** Of the postmaster; null while it is down and when the server was given to us. */
  readonly pid: number | null;
  /** Whether we started it. Only then may it be killed or restarted. */
  readonly isPrivate: boolean;
  /** Stops it (fast shutdown). Does nothing to a server that was given to us. */
  stop(): Promise<void>;
  /** Stops it if it runs and starts it again on the same port. */
  restart(): Promise<void>;
  /** SIGKILL to the postmaster and all its backends: a power cut. Returns when they are gone. */
  kill9(): Promise<void>;
  /** Stops it and erases its data. */
  erase(): Promise<void>;
}

/**
 * Starts the private Postgres of a data folder and returns once it takes connections.
 *
 * @throws EmbeddedError IN_USE, NO_POSTGRES, START_FAILED, DATA_MISMATCH, UNSAFE_FOLDER
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const url = options.url === undefined ? process.env['DATABASE_URL'] : options.url;
  if (url) return givenPostgres(url);
  const logger = options.logger ?? silentLogger;
  const claim = await claimName(options.dataDir, 'postgres', logger);
  try {
    const data = openDataFolder(options.dataDir);
    const durable = options.durable ?? true;
    const home = await openPostgresHome(data, unprivilegedUser(), {
      durable,
      beforeErase: clearPostmasterFile,
    });
    const binaries = findPostgres(options.binaries ?? defaultBinarySearch(), home.runAs, clusterMajor(home));
    const credentials = await ensureCluster(home, binaries, durable);
    const server = new PrivatePostgres({
      home,
      binaries,
      credentials,
      claim,
      logger,
      durable,
      maxConnections: options.maxConnections ?? 200,
      eraseHome: () => erasePostgresHome(data),
    });
    await server.start();
    return server;
  } catch (error) {
    claim.release();
    throw error;
  }
}

function givenPostgres(url: string): PostgresServer {
  const notOurs = async (): Promise<never> => {
    throw new EmbeddedError('NOT_OURS', 'This Postgres was given by DATABASE_URL: it is not ours to stop.');
  };
  return {
    url,
    superuserUrl: null,
    port: Number(new URL(url).port || 5432),
    pid: null,
    isPrivate: false,
    stop: async () => {},
    restart: notOurs,
    kill9: notOurs,
    erase: notOurs,
  };
}

interface PrivateParts {
  readonly home: PostgresHome;
  readonly binaries: PostgresBinaries;
  readonly credentials: Credentials;
  readonly claim: PidClaim;
  readonly logger: EmbeddedLogger;
  readonly durable: boolean;
  readonly maxConnections: number;
  readonly eraseHome: () => void;
}

class PrivatePostgres implements PostgresServer {
  readonly isPrivate = true;
  #port = 0;
  #server: ServerProcess | null = null;
  /** Ends that we asked for are not worth an alarm. */
  #isEnding = false;

  constructor(private readonly parts: PrivateParts) {}

  get port(): number {
    return this.#port;
  }
  get pid(): number | null {
    return this.#server === null || this.#server.hasExited() ? null : this.#server.pid;
  }
  get url(): string {
    return this.#urlFor(OWNER_ROLE, this.parts.credentials.ownerPassword);
  }
  get superuserUrl(): string {
    return this.#urlFor(SUPERUSER_ROLE, this.parts.credentials.superuserPassword);
  }

  async start(): Promise<void> {
    const { home, binaries, claim, logger } = this.parts;
    let reason = '';
    for (let tries = 0; tries < START_TRIES; tries += 1) {
      await clearPostmasterFile(home.cluster);
      // Once we have told a port to anybody, a restart must come back on it.
      const port = this.#port || (await chooseLoopbackPort(rememberedPort(home.portFile)));
      const server = await startServerProcess({
        program: binaries.postgres,
        args: this.#arguments(port),
        env: postgresEnv(),
        cwd: home.folder,
        runAs: home.runAs,
        logFile: home.logFile,
        stopSignal: 'SIGINT',
      });
      claim.note(server.pid, 'postgres', 'SIGINT');
      if (await becomesReady(server, home.cluster)) {
        this.#port = port;
        this.#server = server;
        this.#isEnding = false;
        rememberPort(home.portFile, port);
        this.#watch(server);
        logger.info(
          { port, pid: server.pid, major: binaries.major, cluster: home.cluster },
          'postgres is ready',
        );
        return;
      }
      reason = server.logTail();
      await server.end();
      if (!isWorthRetrying(reason)) break;
      await delay(RETRY_AFTER_MS);
    }
    claim.clear();
    throw new EmbeddedError(
      'START_FAILED',
      `Postgres did not start. Its log (${home.logFile}) ends:\n${reason}`,
    );
  }

  async stop(): Promise<void> {
    await this.#end((server) => server.end());
    this.parts.claim.release();
  }

  async restart(): Promise<void> {
    await this.#end((server) => server.end());
    await this.start();
  }

  async kill9(): Promise<void> {
    await this.#end(async (server) => {
      const processes = [server.pid, ...childrenOf(server.pid)]
        .map(identify)
        .filter((found) => found !== null);
      // The postmaster first, or it would begin its own recovery when a backend dies.
      for (const { pid } of processes) sendSignal(pid, 'SIGKILL');
      await server.exited;
      await allGone(processes);
    });
  }

  async erase(): Promise<void> {
    await this.stop();
    this.parts.eraseHome();
  }

  async #end(how: (server: ServerProcess) => Promise<void>): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#isEnding = true;
    await how(server);
    this.#server = null;
    this.parts.claim.clear();
  }

  #watch(server: ServerProcess): void {
    void server.exited.then(() => {
      if (this.#isEnding || this.#server !== server) return;
      this.parts.logger.error({ pid: server.pid, log: this.parts.home.logFile }, 'postgres ended by itself');
    });
  }

  #urlFor(role: string, password: string): string {
    return `postgres://${role}:${password}@127.0.0.1:${this.#port}/${DATABASE_NAME}`;
  }

  #arguments(port: number): readonly string[] {
    const { home, durable, maxConnections } = this.parts;
    const settings: Readonly<Record<string, string | number>> = {
      listen_addresses: '127.0.0.1',
      port,
      // No socket: the usual folder is not writable by nobody, and a path in ours may be too long.
      unix_socket_directories: '',
      max_connections: maxConnections,
      timezone: 'UTC',
      log_timezone: 'UTC',
      log_line_prefix: '%m [%p] %u@%d ',
      cluster_name: 'headgate',
      fsync: durable ? 'on' : 'off',
      synchronous_commit: durable ? 'on' : 'off',
      full_page_writes: durable ? 'on' : 'off',
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    return ['-D', home.cluster, ...flags];
  }
}

async function becomesReady(server: ServerProcess, cluster: string): Promise<boolean> {
  const giveUpAtMs = performance.now() + READY_WITHIN_MS;
  while (!server.hasExited() && performance.now() < giveUpAtMs) {
    if (isPostmasterReady(cluster, server.pid)) return true;
    await delay(LOOK_AGAIN_MS);
  }
  return false;
}

function isWorthRetrying(log: string): boolean {
  return /could not bind|could not create any TCP\/IP sockets|pre-existing shared memory block/.test(log);
}

async function allGone(processes: readonly ProcessIdentity[]): Promise<void> {
  while (processes.some(isAlive)) await delay(LOOK_AGAIN_MS);
}
