/** Partitions, retention, and what is remembered for a time. */
import { deliveries, idempotencyKeys, partitions } from '@headgate/store';
import { withClient } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { holding } from './locks.js';
import { aWorld, type World } from './world.js';

const months = (world: World): Promise<readonly { name: string }[]> =>
  world.rows<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent in ('headgate.receipt'::regclass, 'headgate.payload'::regclass, 'headgate.run_event'::regclass)
      order by 1`,
  );

/** The month of an instant, as a partition of `parent`. */
const makeMonth = (world: World, parent: string, year: number, month: number): Promise<void> =>
  withClient(world.db.urls.ownerUrl, async (owner) => {
    const from = `${year}-${String(month).padStart(2, '0')}-01T00:00:00Z`;
    const name = `${parent}_${year}_${String(month).padStart(2, '0')}`;
    await owner.query(
      `do $$ begin execute format('create table headgate.${name} partition of headgate.${parent} for values from (%L) to (%L)',
         headgate.uuid7_floor('${from}'), headgate.uuid7_floor('${from}'::timestamptz + interval '1 month')); end $$`,
    );
  });

describe('partitions', () => {
  test('Q29: months behind retention are dropped, each table by its own days; the others and the default stay', async () => {
    const world = await aWorld();
    const before = await months(world);
    const now = new Date();
    // The policy keeps receipts and events 90 days, payloads 30.
    const recent = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 2, 1));
    await makeMonth(world, 'receipt', 2020, 1);
    await makeMonth(world, 'run_event', 2020, 2);
    for (const parent of ['payload', 'receipt'])
      await makeMonth(world, parent, recent.getUTCFullYear(), recent.getUTCMonth() + 1);
    await Promise.all([world.reconciler().round('partitions'), world.reconciler().round('partitions')]);
    const kept = `receipt_${recent.getUTCFullYear()}_${String(recent.getUTCMonth() + 1).padStart(2, '0')}`;
    expect(await months(world)).toEqual(
      [...before, { name: kept }].sort((a, b) => (a.name < b.name ? -1 : 1)),
    );
  });

  test('a table in use is not waited for: nothing is dropped, the job goes on, and the next round drops', async () => {
    const world = await aWorld();
    await makeMonth(world, 'receipt', 2020, 1);
    const reader = await holding(world.db, (c) => c.query('select count(*) from headgate.receipt'));
    await world.reconciler().round('partitions');
    expect(await months(world)).toContainEqual({ name: 'receipt_2020_01' });
    await reader.commit();
    await world.reconciler().round('partitions');
    expect(await months(world)).not.toContainEqual({ name: 'receipt_2020_01' });
  });

  test('no retention of less than a day is taken for an order to drop everything', async () => {
    const world = await aWorld();
    await makeMonth(world, 'receipt', 2020, 1);
    await expect(
      world.db.service.use((c) => partitions.dropOld(c, { receipts: 0, payloads: 30, events: 90 })),
    ).rejects.toMatchObject({ code: '22023' });
    expect(await months(world)).toContainEqual({ name: 'receipt_2020_01' });
  });

  test('Q29: months to come are made before they are needed', async () => {
    const world = await aWorld();
    const next = (await months(world)).filter(({ name }) => /^receipt_\d/.test(name)).at(-1);
    await withClient(world.db.urls.ownerUrl, (owner) => owner.query(`drop table headgate.${next?.name}`));
    await world.reconciler().round('partitions');
    expect(await months(world)).toContainEqual(next);
  });
});

test('I8: deliveries and idempotency keys are forgotten when their time is over, and not before', async () => {
  const world = await aWorld();
  const { id: tenantId } = world.tenant;
  const receiptId = world.context.ids.next('rcpt');
  await world.db.service.use(async (c) => {
    await deliveries.remember(c, [
      { sourceId: 'acme', eventId: 'over', tenantId, receiptId, dedupeWindowMs: -1_000 },
      { sourceId: 'acme', eventId: 'fresh', tenantId, receiptId, dedupeWindowMs: 60_000 },
    ]);
    for (const key of ['over', 'fresh']) await idempotencyKeys.begin(c, tenantId, key, Buffer.from(key));
    await c.query(
      "update headgate.idempotency_key set expires_at = clock_timestamp() - interval '1 second' where key = 'over'",
    );
  });
  await world.reconciler().round('forget-expired');
  expect(await world.rows('select event_id as key from headgate.delivery')).toEqual([{ key: 'fresh' }]);
  expect(await world.rows('select key from headgate.idempotency_key')).toEqual([{ key: 'fresh' }]);
});
