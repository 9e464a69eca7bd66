/** Partitions, retention, and what is remembered for a time. */
import { systemIds } from '@headgate/domain';
import { deliveries, idempotencyKeys, partitions, scheduleTicks } from '@headgate/store';
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

describe('retention.history', () => {
  const scheduleId = systemIds.next('sch');

  /** A schedule that ticked every hour for so many hours, each counted as the ticker counts. */
  async function tickedFor(world: World, hours: number): Promise<void> {
    await world.rows(
      `with made as (
         insert into headgate.schedule (id, tenant_id, route, ordinal, spec, policy_version)
         values ($1, $2, 'nightly', 0, '{}', 1) on conflict do nothing
       ), ticks as (
         insert into headgate.schedule_tick
           (schedule_id, nominal_at, until_at, target, tenant_id, count, bucket, reason_code, origin, created_at)
         select $1, at, at, '', $2, 1, case when n % 10 = 0 then 'skipped' else 'fired' end, 'NOTHING_FOUND', 'timer', at
           from (select n, date_trunc('hour', now()) - n * interval '1 hour' as at from generate_series(1, $3::int) n) t
         returning schedule_id, tenant_id, origin, bucket, count
       )
       insert into headgate.schedule_count (schedule_id, tenant_id, origin, bucket, total)
       select schedule_id, tenant_id, origin, bucket, sum(count) from ticks group by 1, 2, 3, 4`,
      [scheduleId, world.tenant.id, hours],
    );
  }
  const kept = (world: World) =>
    world.rows<{ ticks: number; hours: number }>(
      `select count(*)::int as ticks, round(extract(epoch from now() - min(nominal_at)) / 3600)::int as hours
         from headgate.schedule_tick`,
    );
  const counts = (world: World) =>
    world.rows('select origin, bucket, total::int from headgate.schedule_count order by 1, 2');

  test('I2: old ticks go in bounded steps and their totals stay: every nominal time is still in exactly one bucket', async () => {
    const world = await aWorld();
    const days = 91;
    await tickedFor(world, days * 24 + 4_500);
    const before = await counts(world);
    // 4 500 hours and the 91st day are past retention: two whole steps of 2 000, and a last one.
    const step = () => world.db.service.use((c) => scheduleTicks.forget(c, 2_000, 90));
    expect(await step()).toBe(2_000);
    await world.reconciler().round('history');
    expect(await step()).toBe(0);
    const [left] = await kept(world);
    expect(left?.hours).toBeLessThanOrEqual(90 * 24 + 1);
    expect(left?.ticks).toBeGreaterThanOrEqual(90 * 24 - 1);
    expect(await counts(world)).toEqual(before);
  });

  test('a schedule that seldom ticks keeps its newest ticks, whatever their age', async () => {
    const world = await aWorld();
    await tickedFor(world, 300);
    await world.rows(
      `update headgate.schedule_tick set nominal_at = nominal_at - interval '1 year', created_at = created_at - interval '1 year'`,
    );
    await Promise.all([world.reconciler().round('history'), world.reconciler().round('history')]);
    expect(await kept(world)).toMatchObject([{ ticks: 200 }]);
  });

  test('a tick of long ago that a person had made lately stays', async () => {
    const world = await aWorld();
    await tickedFor(world, 300);
    await world.rows(`update headgate.schedule_tick set nominal_at = nominal_at - interval '1 year'`);
    await world.reconciler().round('history');
    expect(await kept(world)).toMatchObject([{ ticks: 300 }]);
  });

  test('observations, done requests, told feedback, words and signals of dropped receipts go; what is not over stays', async () => {
    const world = await aWorld();
    const { id: tenantId } = world.tenant;
    const long = "headgate.uuid7_floor(now() - interval '100 days')";
    const late = (n: string) => `(left(${long}::text, 24) || lpad(to_hex(${n}), 12, '0'))::uuid`;
    const goalId = systemIds.next('goal');
    await world.rows(
      `insert into headgate.goal (id, tenant_id, route, ordinal, target, repository, spec, policy_version)
       values ($1, $2, 'goal', 0, '42', 'acme/api', '{}', 1)`,
      [goalId, tenantId],
    );
    await world.rows(
      `insert into headgate.observation (id, goal_id, tenant_id, epoch, number, run_id, outcome, observed_at)
       select headgate.uuid7(n), $1, $2, 1, n, headgate.uuid7(n), 'open',
              case when n <= 70 then now() - interval '100 days' else now() end from generate_series(1, 90) n`,
      [goalId, tenantId],
    );
    await world.rows(
      `insert into headgate.schedule_request (id, schedule_id, tenant_id, kind, from_at, until_at, state, requested_by)
       select ${late('n')}, $1::uuid, $2::int, 'trigger', now(), now(), case when n = 3 then 'pending' else 'done' end, 'test'
         from generate_series(1, 3) n
       union all select headgate.uuid7(), $1::uuid, $2::int, 'trigger', now(), now(), 'done', 'test'`,
      [scheduleId, tenantId],
    );
    await world.rows(
      `insert into headgate.feedback (receipt_id, tenant_id, source, repository, number, comment_id, reason_code, message, state)
       select ${late('n')}, $1, 'acme', 'acme/api', '7', n::text, 'ACTOR_NOT_ALLOWED', 'no',
              case when n = 3 then 'ambiguous' else 'confirmed' end from generate_series(1, 3) n`,
      [tenantId],
    );
    await world.rows(
      `insert into headgate.approval
         (id, tenant_id, run_id, subject, policy_version, operations, four_eyes, expires_at, outcome, decided_at)
       select ${late('n')}, $1::int, ${late('n')}, 'proposal', 1, '[]'::jsonb, false, now(),
              case when n = 3 then null else 'approved' end,
              case when n = 3 then null else now() - interval '95 days' end
         from generate_series(1, 3) n
       union all
       select headgate.uuid7(), $1::int, headgate.uuid7(), 'proposal', 1, '[]', false, now(), 'declined', now()`,
      [tenantId],
    );
    await world.rows(
      `insert into headgate.task_signal (task_id, receipt_id, tenant_id)
       select ${late('1')}, ${late('n')}, $1::int from generate_series(1, 6000) n
       union all select ${late('1')}, headgate.uuid7(), $1::int`,
      [tenantId],
    );
    const reconciler = world.reconciler();
    await reconciler.round('history', 'task-signals');
    const left = await world.rows<{ what: string; rows: number }>(
      `select 'observations' as what, count(*)::int as rows from headgate.observation
       union all select 'requests', count(*)::int from headgate.schedule_request
       union all select 'feedback', count(*)::int from headgate.feedback
       union all select 'words', count(*)::int from headgate.approval
       union all select 'signals', count(*)::int from headgate.task_signal`,
    );
    expect(Object.fromEntries(left.map(({ what, rows }) => [what, rows]))).toEqual({
      observations: 50,
      requests: 2,
      feedback: 1,
      words: 2,
      signals: 1,
    });
  });
});
