/** The database's clock: the only one that leases and waits are judged by. */
import type { Connection } from './connection/connection.js';
import { statement } from './connection/statement.js';

const now = statement('clock.now', 'select clock_timestamp() as now');

export async function databaseNow(c: Connection): Promise<Date> {
  const [row] = await c.run<{ now: Date }>(now);
  if (row === undefined) throw new Error('the database gave no time');
  return row.now;
}
