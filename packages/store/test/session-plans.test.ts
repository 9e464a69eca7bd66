import type { Pool } from '@headgate/store';
import { testStore } from '@headgate/testkit';
import { expect, it } from 'vitest';

const howItPlans = (pool: Pool): Promise<string | undefined> =>
  pool.use(
    async (c) =>
      (await c.query<{ mode: string }>("select current_setting('plan_cache_mode') as mode"))[0]?.mode,
  );

it('a service plans a statement once for a session, by its index although the table is empty as yet', async () => {
  const db = await testStore();
  expect(await howItPlans(db.service)).toBe('force_generic_plan');
  expect(await howItPlans(db.reserved)).toBe('force_generic_plan');
  const plan = await db.service.use((c) =>
    c.query<{ 'QUERY PLAN': string }>(
      'explain select from headgate.lease where run_id = any (array[gen_random_uuid(), gen_random_uuid()])',
    ),
  );
  const text = plan.map((line) => line['QUERY PLAN']).join('\n');
  expect(text).toContain('lease_pkey');
  expect(text).not.toContain('Seq Scan');
});

it('reads of the console, and sessions behind a transaction pooler, plan as Postgres would', async () => {
  const [db, pooled] = await Promise.all([testStore(), testStore({ poolMode: 'transaction' })]);
  expect(await howItPlans(db.api)).toBe('auto');
  expect(await howItPlans(pooled.service)).toBe('auto');
});
