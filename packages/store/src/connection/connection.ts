/** One Postgres session, seen through named statements. */
import type { PoolClient, QueryResult, QueryResultRow } from 'pg';
import type { Statement } from './statement.js';

interface Held {
  readonly send: () => void;
  readonly drop: (fault: unknown) => void;
}

const holding = <T>(held: Held[], ask: () => Promise<T>): Promise<T> =>
  new Promise<T>((resolve, reject) => {
    held.push({ send: () => void ask().then(resolve, reject), drop: reject });
  });

/** All that follows without a wait for anything outside has happened: a tick that is asked for by a microtask. */
async function allMicrotasks(): Promise<void> {
  await null;
  await new Promise<void>((resolve) => process.nextTick(resolve));
}

export class Connection {
  readonly #client: PoolClient;
  readonly #named: boolean;
  #firstFault: unknown = null;
  #commit: Promise<QueryResult> | null = null;
  /** Statements that go out together; null: each goes as it comes. */
  #held: Held[] | null = null;

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
   * For statements whose answers decide nothing any more. Nothing goes out before `write` has handed over all of them: where
   * it fails on the way none is sent, and nothing is committed. Where the server refuses one, the transaction is aborted, in
   * which a COMMIT is a ROLLBACK.
   */
  async last<T>(write: () => Promise<T>): Promise<T> {
    const held: Held[] = [];
    this.#held = held;
    const failed: unknown[] = [];
    const written = write();
    written.catch((fault: unknown) => failed.push(fault));
    await allMicrotasks();
    this.#held = null;
    if (failed.length > 0) {
      for (const { drop } of held) drop(failed[0]);
      throw failed[0];
    }
    for (const { send } of held) send();
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
    const ask = (): Promise<QueryResult<Row>> =>
      this.#client.query<Row>({ text, values: [...values], ...(this.#named ? { name } : {}) });
    try {
      return await (this.#held === null ? ask() : holding(this.#held, ask));
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
