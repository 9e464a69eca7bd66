/** One Postgres session, seen through named statements. */
import type { PoolClient, QueryResultRow } from 'pg';
import type { Statement } from './statement.js';

export class Connection {
  readonly #client: PoolClient;
  readonly #named: boolean;

  /** @param named false behind an old transaction pooler, which loses server-side names between transactions. */
  constructor(client: PoolClient, named: boolean) {
    this.#client = client;
    this.#named = named;
  }

  /** Rows of a statement. Calls may be made without awaiting the earlier ones: they are pipelined in order. */
  async run<Row extends QueryResultRow>(
    statement: Statement,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    const result = await this.#client.query<Row>({
      text: statement.text,
      values: [...values],
      ...(this.#named ? { name: statement.name } : {}),
    });
    return result.rows;
  }

  /** How many rows a statement touched. */
  async count(statement: Statement, values: readonly unknown[] = []): Promise<number> {
    const result = await this.#client.query({
      text: statement.text,
      values: [...values],
      ...(this.#named ? { name: statement.name } : {}),
    });
    return result.rowCount ?? 0;
  }

  /** Plain text, for transaction control and one-off reads. */
  async query<Row extends QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#client.query<Row>(text, [...values])).rows;
  }

  /** The driver's own client, for drizzle in console reads. */
  get client(): PoolClient {
    return this.#client;
  }
}
