/** One Postgres session, seen through named statements. */
import type { PoolClient, QueryResult, QueryResultRow } from 'pg';
import type { Statement } from './statement.js';

export class Connection {
  readonly #client: PoolClient;
  readonly #named: boolean;
  #firstFault: unknown = null;

  /** @param named false behind an old transaction pooler, which loses server-side names between transactions. */
  constructor(client: PoolClient, named: boolean) {
    this.#client = client;
    this.#named = named;
  }

  /** What the first statement that failed on this connection was refused for; null: none has. */
  get firstFault(): unknown {
    return this.#firstFault;
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
    return (await this.#client.query<Row>(text, [...values])).rows;
  }

  async #send<Row extends QueryResultRow>(
    { name, text }: Statement,
    values: readonly unknown[],
  ): Promise<QueryResult<Row>> {
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
