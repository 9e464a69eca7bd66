/** Holds rows locked in a transaction of its own for as long as a test wants. */
import type { Connection, Database } from '@headgate/store';
import { atEnd, eventually } from '@headgate/testkit';
import { gate } from './gate.js';

export interface Held<T> {
  readonly result: T;
  /** COMMIT; resolves when it has been answered. */
  commit(): Promise<void>;
}

/** Does `work` in a transaction and leaves it open. */
export async function holding<T>(db: Database, work: (c: Connection) => Promise<T>): Promise<Held<T>> {
  const end = gate();
  const entered = gate<T>();
  const whole = db.service.transaction(
    async (c) => {
      entered.resolve(await work(c));
      await end.promise;
    },
    { retries: 0 },
  );
  whole.catch(entered.reject);
  const commit = async (): Promise<void> => {
    end.resolve();
    await whole;
  };
  atEnd(() => commit().catch(() => {}));
  return { result: await entered.promise, commit };
}

/** Returns once `count` sessions of this database wait for a lock. */
export const sessionsWait = (db: Database, count = 1): Promise<unknown> =>
  eventually(
    async () => {
      const [row] = await db.reserved.use((c) =>
        c.query<{ waiting: number }>(
          `select count(*)::int as waiting from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`,
        ),
      );
      return (row?.waiting ?? 0) >= count;
    },
    { what: `${count} session(s) wait for a lock`, deadlineMs: 20_000 },
  );
