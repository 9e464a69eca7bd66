/** What the database itself refuses, whatever the code above it does. */
import {
  claimRun,
  dispatchRun,
  seedRun,
  seedRuns,
  seedTenant,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { rows } from './rows.js';

/** Writes the row again with other values in some columns, as code that forgot to ask would. */
const copyRow = (db: TestStore, table: string, change: Readonly<Record<string, string>>): Promise<unknown> =>
  db.service.use(async (c) => {
    const columns = await c.query<{ name: string }>(
      `select attname as name from pg_attribute
        where attrelid = ('headgate.' || $1)::regclass and attnum > 0 and not attisdropped order by attnum`,
      [table],
    );
    const names = columns.map(({ name }) => name);
    const values = names.map((name) => change[name] ?? name);
    return c.query(
      `insert into headgate.${table} (${names.join(', ')}) select ${values.join(', ')} from headgate.${table} limit 1`,
    );
  });

describe('the database refuses', () => {
  test('Q3, Q12: a second active lease of a run, of a task, of an exclusive key', async () => {
    const db = await testStore();
    const run = await seedRun(db, { concurrency: { key: 'deploy/production', limit: 1 } });
    await claimRun(db, run);
    const another = { run_id: 'gen_random_uuid()', lease_id: 'gen_random_uuid()' };

    await expect(copyRow(db, 'lease', { lease_id: 'gen_random_uuid()' })).rejects.toThrow(/lease_pkey/);
    await expect(copyRow(db, 'lease', { ...another, exclusive_key: 'null' })).rejects.toThrow(
      /lease_tenant_id_exclusive_task_id_key/,
    );
    await expect(copyRow(db, 'lease', { ...another, exclusive_task_id: 'null' })).rejects.toThrow(
      /lease_tenant_id_exclusive_key_key/,
    );
    expect(await rows(db, 'select run_id from headgate.lease')).toEqual([{ run_id: run.runId }]);
  });

  test('Q12: a second active item of a run, and a dispatched one without its time', async () => {
    const db = await testStore();
    const run = await seedRun(db);
    await expect(copyRow(db, 'queue_item', {})).rejects.toThrow(/queue_item_pkey/);
    await expect(
      rows(db, "update headgate.queue_item set state = 'dispatched' where run_id = $1", [run.runId]),
    ).rejects.toThrow(/check constraint/);
    expect(await dispatchRun(db, run)).toBe(1);
  });

  test('Q12: fencing tokens come one by one from one sequence, whichever session draws them', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const tokens = [];
    for (const run of await seedRuns(db, 4, { tenant })) {
      tokens.push(Number((await claimRun(db, run)).fence.fencingToken));
    }
    const [first = Number.NaN] = tokens;
    expect(tokens).toEqual([first, first + 1, first + 2, first + 3]);
    expect(
      await rows(
        db,
        "select cache_size::int as cache from pg_sequences where sequencename = 'fencing_token'",
      ),
    ).toEqual([{ cache: 1 }]);
  });

  test('Q12: an item that becomes visible later is not ready before, and a lease knows when it ends', async () => {
    const db = await testStore();
    const run = await seedRun(db);
    await rows(
      db,
      "update headgate.queue_item set state = 'delayed', waits = 'backoff', visible_at = clock_timestamp() + interval '1 hour'",
    );
    await expect(dispatchRun(db, run)).rejects.toThrow(/not ready/);
    const other = await claimRun(db, await seedRun(db, { tenant: run.tenant }));
    expect(
      await rows(
        db,
        'select expires_at > clock_timestamp() as live, expires_at <= renew_until as bounded from headgate.lease where run_id = $1',
        [other.fence.runId],
      ),
    ).toEqual([{ live: true, bounded: true }]);
  });
});
