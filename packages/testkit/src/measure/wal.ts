/** How much log a piece of work leaves. The server must be one's own: the log is the whole server's. */
import { withClient } from '../services/prepare-template.js';

export async function walBytes(url: string, work: () => Promise<unknown>): Promise<number> {
  const at = () =>
    withClient(url, async (client) => {
      const { rows } = await client.query<{ at: string }>(
        "select (pg_current_wal_insert_lsn() - '0/0')::text as at",
      );
      return Number(rows[0]?.at ?? 0);
    });
  const before = await at();
  await work();
  return (await at()) - before;
}
