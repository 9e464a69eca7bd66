/** Second sessions beside the store's pools, to hold a lock at the moment a test is about. */
import { atEnd, eventually, type TestStore } from '@headgate/testkit';
import { Client } from 'pg';

/** A session of the service's own role, ended with the test. */
export async function openSession(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  atEnd(async () => {
    await client.end().catch(() => {});
  });
  return client;
}

export const serviceSession = (db: TestStore): Promise<Client> => openSession(db.urls.serviceUrl);

/** Returns once `count` sessions of this database wait for a lock. */
export async function sessionsWait(db: TestStore, count = 1): Promise<void> {
  await eventually(
    async () => {
      const [row] = await db.service.use((c) =>
        c.query<{ waiting: number }>(
          `select count(*)::int as waiting from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`,
        ),
      );
      return row !== undefined && row.waiting >= count;
    },
    { what: `${count} session(s) wait for a lock`, deadlineMs: 20_000 },
  );
}

/** Holds the row locks of one statement until `release`. */
export async function holdRows(
  db: TestStore,
  text: string,
  values: readonly unknown[] = [],
): Promise<{ release(): Promise<void>; session: Client }> {
  const session = await serviceSession(db);
  await session.query('begin');
  await session.query(text, [...values]);
  return {
    session,
    release: async () => {
      await session.query('commit');
    },
  };
}

/** Waits, by the database's clock, until an instant that the database gave has passed. */
export async function untilDatabaseTime(db: TestStore, at: Date): Promise<void> {
  await eventually(
    async () => {
      const [row] = await db.service.use((c) =>
        c.query<{ past: boolean }>('select clock_timestamp() > $1::timestamptz as past', [at]),
      );
      return row?.past === true;
    },
    { what: `the database's clock passes ${at.toISOString()}` },
  );
}
