/**
 * The pools of one process, and transactions.
 *
 * Heartbeats and cancels have their own reserved sessions, so that a pool drained by slow work never costs a
 * lease. Nothing here needs session state: all of it works behind a transaction pooler (SQL rule 6).
 */
import { type Logger, record } from '@headgate/telemetry';
import pg, { type PoolClient } from 'pg';
import { Connection } from './connection.js';
import { CommitUnknownError, isAfterFault, isConnectionFault, isDataFault, isTransient } from './faults.js';
import { GatheringSocket } from './gathering-socket.js';

// int8 (fencing tokens, xid8) stays text: it outgrows a JavaScript number. numeric is money: a number.
pg.types.setTypeParser(1700, (text) => Number(text));

export interface DatabaseOptions {
  readonly serviceUrl: string;
  readonly apiUrl?: string | null;
  /** `transaction`: named statements are off (pgbouncer before 1.21). */
  readonly poolMode?: 'session' | 'transaction';
  readonly maxConnections?: number;
  /** A statement without an answer for that long ends its session: for those who cannot wait for a dead network. */
  readonly queryTimeoutMs?: number;
  readonly applicationName: string;
  readonly logger: Logger;
}

export interface TransactionOptions<T> {
  /** How often 40001, 40P01 and 55P03 are tried again; default 5. */
  readonly retries?: number;
  /**
   * After a COMMIT without an answer: says, on a fresh session, what the transaction left, or null if it left
   * nothing (it is then tried again). Without it the fault is thrown as CommitUnknownError.
   */
  readonly readBack?: (connection: Connection) => Promise<T | null>;
  /** Tenants that a session of headgate_api may see in this transaction. */
  readonly tenants?: readonly number[];
}

/**
 * Plans that do not depend on the moment they are made in. Each statement of a service is written for one index, whatever its
 * parameters are: it is planned once for a session. Without this a session that meets an empty table plans to read all of it,
 * and goes on so until the next ANALYZE, however much waits there by then; and short lists are planned anew each time,
 * which costs more than to run them. Nothing is wrong without it, only slower: behind a transaction pooler it is left out.
 */
const PLANNED_ONCE = `set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_bitmapscan = off;
  set random_page_cost = 1.1; set jit = off`;

const RETRY_BASE_MS = 5;
const RETRY_CAP_MS = 200;

export class Pool {
  readonly #pool: pg.Pool;
  readonly #named: boolean;

  /** @param isPlannedOnce false: for reads whose parameters decide which way is the shorter one. */
  constructor(
    url: string,
    max: number,
    options: Omit<DatabaseOptions, 'serviceUrl'>,
    isPlannedOnce: boolean = true,
  ) {
    this.#named = options.poolMode !== 'transaction';
    this.#pool = new pg.Pool({
      connectionString: url,
      max,
      application_name: options.applicationName,
      connectionTimeoutMillis: 5_000,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      pipeline: true,
      stream: () => new GatheringSocket(),
      ...(options.queryTimeoutMs === undefined
        ? {}
        : { query_timeout: options.queryTimeoutMs, connectionTimeoutMillis: options.queryTimeoutMs }),
    } as pg.PoolConfig);
    // A killed backend must not crash the process: the pool's own listener is gone while a client is out.
    const warn = (fault: Error) => options.logger.warn({ err: fault }, 'postgres session lost');
    this.#pool.on('error', warn);
    this.#pool.on('connect', (client) => {
      client.on('error', warn);
      // Goes out with the first statement. It fails only with its session.
      if (this.#named && isPlannedOnce) client.query(PLANNED_ONCE).catch(() => {});
    });
  }

  /** One statement or a few, outside a transaction. */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let fault: unknown = null;
    try {
      return await work(new Connection(client, this.#named));
    } catch (thrown) {
      fault = thrown;
      throw thrown;
    } finally {
      client.release(fault !== null && isConnectionFault(fault) ? true : undefined);
    }
  }

  /**
   * A READ COMMITTED transaction. Deadlocks and lock time-outs are retried as a whole, with jitter.
   *
   * Our own, because drizzle's leaks the client when BEGIN fails.
   */
  async transaction<T>(
    work: (connection: Connection) => Promise<T>,
    options: TransactionOptions<T> = {},
  ): Promise<T> {
    const retries = options.retries ?? 5;
    let mayHaveCommitted = false;
    for (let tryNo = 0; ; tryNo += 1) {
      try {
        return await this.#once(work, options);
      } catch (fault) {
        mayHaveCommitted ||= fault instanceof CommitUnknownError;
        // A COMMIT can land after it was read back as absent; the new try then meets its own rows (23505).
        const unknown = fault instanceof CommitUnknownError || (mayHaveCommitted && isDataFault(fault));
        if (unknown && options.readBack !== undefined) {
          const left = await this.#readBack(options.readBack);
          if (left !== null) return left;
          if (fault instanceof CommitUnknownError && tryNo < retries) continue;
        }
        if (!isTransient(fault) || tryNo >= retries) throw fault;
        record({ type: 'info', op: 'transaction.retry', result: String(fault) });
        await pause(Math.random() * Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** tryNo));
      }
    }
  }

  async #once<T>(work: (connection: Connection) => Promise<T>, options: TransactionOptions<T>): Promise<T> {
    const client = await this.#pool.connect();
    const connection = new Connection(client, this.#named);
    let broken = false;
    try {
      // Sent with the first statement of the work, not before it: a transaction costs no round trip of its own. A BEGIN
      // fails only with its session, and then so does everything behind it.
      const opening = [client.query('begin')];
      if (options.tenants !== undefined) {
        const seen = [options.tenants.join(',')];
        opening.push(client.query("select set_config('headgate.tenants', $1, true)", seen));
      }
      const opened = Promise.all(opening);
      opened.catch(() => {});
      const result = await work(connection);
      await opened;
      try {
        const { command } = await (connection.commitBehind ?? client.query('commit'));
        if (command !== 'COMMIT') throw new Error(`the transaction was ended by ${command}`);
      } catch (fault) {
        broken = true;
        throw isConnectionFault(fault) ? new CommitUnknownError(fault) : fault;
      }
      return result;
    } catch (fault) {
      if (!broken && connection.commitBehind !== null && isConnectionFault(fault)) {
        broken = true;
        throw new CommitUnknownError(fault);
      }
      if (!broken) broken = isConnectionFault(fault) || !(await rolledBack(client));
      // Of statements in flight together, the one that is heard first need not be the one that failed first.
      throw isAfterFault(fault) ? (connection.firstFault ?? fault) : fault;
    } finally {
      client.release(broken ? true : undefined);
    }
  }

  async #readBack<T>(read: (connection: Connection) => Promise<T | null>): Promise<T | null> {
    for (let tryNo = 0; ; tryNo += 1) {
      try {
        return await this.use(read);
      } catch (fault) {
        if (!isConnectionFault(fault) || tryNo >= 10) throw fault;
        await pause(200 * (tryNo + 1));
      }
    }
  }

  async end(): Promise<void> {
    await this.#pool.end();
  }
}

export interface Database {
  /** Ordinary work of the background services. */
  readonly service: Pool;
  /** Heartbeats and cancels only. */
  readonly reserved: Pool;
  /** The console's reads, under row level security. Falls back to `service` in processes that serve no console. */
  readonly api: Pool;
  /** Waits for nothing longer than a few seconds, whatever Postgres does. */
  close(): Promise<void>;
}

export function openDatabase(options: DatabaseOptions): Database {
  const service = new Pool(options.serviceUrl, options.maxConnections ?? 10, options);
  const reserved = new Pool(options.serviceUrl, 2, options);
  const apiUrl = options.apiUrl ?? null;
  const api = apiUrl === null ? service : new Pool(apiUrl, 5, options, false);
  return {
    service,
    reserved,
    api,
    close: async () => {
      const ended = Promise.allSettled([...new Set([service, reserved, api])].map((pool) => pool.end()));
      await Promise.race([ended, pause(3_000)]);
    },
  };
}

async function rolledBack(client: PoolClient): Promise<boolean> {
  try {
    await client.query('rollback');
    return true;
  } catch {
    return false;
  }
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
