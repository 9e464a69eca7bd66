/** Partitions of the append-only tables: made ahead, so that nothing falls into the default one. */
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

const ensure = statement('partition.ensure', 'select headgate.ensure_partitions() as made');

export const partitions = {
  /** How many were made. Serialised in the database; harmless from several callers. */
  ensure: async (c: Connection): Promise<number> => (await c.run<{ made: number }>(ensure))[0]?.made ?? 0,
};
