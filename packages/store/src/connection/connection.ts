/** One Postgres session, seen through named statements. */
import type { PoolClient, QueryResult, QueryResultRow } from 'pg';
import type { Statement } from './statement.js';

export class Connection {
  readonly #client: PoolClient;
  readonly #named: boolean;
  #firstFault: unknown = null;
  #commit: Promise<QueryResult> | null = null;

  /** @param named false behind an old transaction pooler, which loses server-side names between transactions. */
  constructor(client: PoolClient, named: boolean) {
    this.#client = client;
    this.#named = named;
  }

  /** What the first statement that failed on this connection was refused for; null: none has. */
  get firstFault(): unknown {
    return this.#firstFault;
  }

  /** The COMMIT that was sent behind the last statements; null: the transaction's owner sends it. */
  get commitBehind(): Promise<QueryResult> | null {
    return this.#commit;
  }

  /**
   * Sends what is written last, and the COMMIT right behind it: one round trip less, and the locks are held for one less.
   *
   * For statements whose answers decide nothing any more. `write` hands all of them over before it first waits. Where one of
   * them fails the session is in an aborted transaction, in which a COMMIT is a ROLLBACK.
   */
  last<T>(write: () => Promise<T>): Promise<T> {
    const written = write();
    this.#commit = this.#client.query('commit');
    // Its owner asks for it; where a statement before it fails, nobody does.
    this.#commit.catch(() => {});
    return written;
  }

  /** Rows of a statement. Calls may be made without awaiting the earlier ones: they are pipelined in order. */
  async run<Row extends QueryResultRow>(
    statement: Statement,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    return (await this.#send<Row>(statement, values)).rows;
  }

  /** How many rows a statement touched. */
  async count(statement: Statement, values: readonly unknown[] = []): Promise<number> {
    return (await this.#send(statement, values)).rowCount ?? 0;
  }

  /** Plain text, for transaction control and one-off reads. */
  async query<Row extends QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    if (this.#commit !== null) throw new Error('a statement was sent behind the COMMIT of its transaction');
    return (await this.#client.query<Row>(text, [...values])).rows;
  }

  async #send<Row extends QueryResultRow>(
    { name, text }: Statement,
    values: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    if (this.#commit !== null) throw new Error(`${name} was sent behind the COMMIT of its transaction`);
    try {
      return await this.#client.query<Row>({ text, values: [...values], ...(this.#named ? { name } : {}) });
    } catch (fault) {
      this.#firstFault ??= fault;
      throw fault;
    }
  }

  /** The driver's own client, for drizzle in console reads. */
  get client(): PoolClient {
    return this.#client;
  }
}
