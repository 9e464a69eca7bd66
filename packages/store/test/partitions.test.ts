import { partitions } from '@headgate/store';
import { seedRun, seedTenant, testStore, withClient } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { rows } from './rows.js';
import { openSession } from './sessions.js';

const BOUNDS = `select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bound from pg_class c
  where c.relispartition and c.relkind = 'r' and c.relnamespace = 'headgate'::regnamespace and c.relname not like '%default'
  order by 1`;

/** As the owner: removes the partitions of the months that are to come. */
const dropAhead = (ownerUrl: string): Promise<number> =>
  withClient(ownerUrl, async (owner) => {
    const { rows: ahead } = await owner.query<{ name: string }>(
      `select relname as name from pg_class where relispartition and relkind = 'r'
          and relname ~ '_20\\d\\d_\\d\\d$' and right(relname, 7) > to_char(now() at time zone 'UTC', 'YYYY_MM')`,
    );
    for (const { name } of ahead) await owner.query(`drop table headgate.${name}`);
    return ahead.length;
  });

describe('partitions of the append-only tables', () => {
  test('rows of now lie in the partition of this month, not in the default one', async () => {
    const db = await testStore();
    await seedRun(db);
    const places = await rows<{ place: string }>(
      db,
      `select distinct tableoid::regclass::text as place from headgate.receipt
       union select tableoid::regclass::text from headgate.run_event`,
    );
    const month = new Date().toISOString().slice(0, 7).replace('-', '_');
    expect(places.map((row) => row.place).toSorted()).toEqual([
      `headgate.receipt_${month}`,
      `headgate.run_event_${month}`,
    ]);
  });

  test('two sessions at once make each partition once; a third finds nothing to make', async () => {
    const db = await testStore();
    const before = await rows(db, BOUNDS);
    const dropped = await dropAhead(db.urls.ownerUrl);
    expect(dropped).toBe(6);
    const ensure = () => db.service.use((c) => partitions.ensure(c));
    const made = await Promise.all([ensure(), ensure(), ensure()]);
    expect(made.toSorted()).toEqual([0, 0, dropped]);
    expect(await rows(db, BOUNDS)).toEqual(before);
  });

  test('months are those of UTC, whatever the time zone of the session', async () => {
    const db = await testStore();
    const before = await rows(db, BOUNDS);
    for (const zone of ['America/New_York', 'Pacific/Kiritimati', 'UTC']) {
      await dropAhead(db.urls.ownerUrl);
      const session = await openSession(db.urls.serviceUrl);
      await session.query(`set time zone '${zone}'`);
      await session.query('select headgate.ensure_partitions()');
      expect(await rows(db, BOUNDS), zone).toEqual(before);
    }
  });

  test('rows that lie in the default partition keep their month there, and the other tables get theirs', async () => {
    const db = await testStore();
    const { id } = await seedTenant(db);
    await dropAhead(db.urls.ownerUrl);
    const [next] = await rows<{ at: Date }>(
      db,
      "select date_trunc('month', now()) + interval '45 days' as at",
    );
    await rows(
      db,
      `insert into headgate.payload (receipt_id, tenant_id, encoding, media_type, data)
       values (headgate.uuid7_floor($1), $2, 'identity', 'text/plain', '')`,
      [next?.at, id],
    );
    expect(await db.service.use((c) => partitions.ensure(c))).toBe(5);
    expect(await rows(db, 'select tableoid::regclass::text as place from headgate.payload')).toEqual([
      { place: 'headgate.payload_default' },
    ]);
  });

  test('an id made by the database is a UUIDv7 of its time, and later ones sort behind', async () => {
    const db = await testStore();
    const made = await rows<{ id: string }>(
      db,
      'select headgate.uuid7()::text as id from generate_series(1, 200) union all select headgate.uuid7(5)::text',
    );
    const ids = made.map((row) => row.id);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(ids).toEqual(ids.toSorted());
    const [bound] = await rows(
      db,
      `select headgate.uuid7_floor(now()) <= headgate.uuid7() as below,
              headgate.uuid7_floor('2026-01-01T00:00:00Z')::text as floor`,
    );
    expect(bound).toEqual({ below: true, floor: '019b76da-a800-7000-8000-000000000000' });
  });
});
