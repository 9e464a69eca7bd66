/** Partitions of the append-only tables: made ahead, so that nothing falls into the default one; dropped when old. */
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

const ensure = statement('partition.ensure', 'select headgate.ensure_partitions() as made');
const dropOld = statement('partition.drop_old', 'select headgate.drop_old_partitions($1, $2, $3) as dropped');

export interface Retention {
  readonly receipts: number;
  readonly payloads: number;
  readonly events: number;
}

export const partitions = {
  /** How many were made. Serialised in the database; harmless from several callers. */
  ensure: async (c: Connection): Promise<number> => (await c.run<{ made: number }>(ensure))[0]?.made ?? 0,
  /**
   * Drops the months that lie wholly behind the given days, and names them. Takes the parent's strongest lock for a
   * moment; 55P03 when that cannot be had at once: nothing was dropped, ask again later.
   */
  dropOld: async (c: Connection, days: Retention): Promise<readonly string[]> =>
    (await c.run<{ dropped: string[] }>(dropOld, [days.receipts, days.payloads, days.events]))[0]?.dropped ??
    [],
};
