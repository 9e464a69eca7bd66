import { declaredStatements, type Pool } from '@headgate/store';
import { testStore } from '@headgate/testkit';
import { expect, it } from 'vitest';

const howItPlans = (pool: Pool): Promise<string | undefined> =>
  pool.use(
    async (c) =>
      (await c.query<{ mode: string }>("select current_setting('plan_cache_mode') as mode"))[0]?.mode,
  );

it('a service plans a statement once for a session, whatever its parameters are', async () => {
  const db = await testStore();
  expect(await howItPlans(db.service)).toBe('force_generic_plan');
  expect(await howItPlans(db.reserved)).toBe('force_generic_plan');
});

it.each([
  'claim.take',
  'dispatched_run.named',
  'dispatched_run.marked',
  'queue_item.mark_dispatched',
  'queue_item.lock',
  'dispatch.held',
  'lease.lock_fenced',
  'run.lock',
  'task_version.close',
  'receipt.insert_closing',
])('Q13: %s goes by keys in a database that is empty and was never analysed', async (name) => {
  const db = await testStore();
  const text = declaredStatements().find((statement) => statement.name === name)?.text;
  const plan = await db.service.use((c) =>
    c.query<{ 'QUERY PLAN': string }>(`explain (generic_plan) ${text}`),
  );
  const lines = plan.map((line) => line['QUERY PLAN']).join('\n');
  expect(lines).not.toMatch(
    /Bitmap|Seq Scan on (?:queue_item|lease|run|task|task_version|receipt\w*|attempt)\b/,
  );
  // What is named by its key is not looked for among all that is in its state.
  if (name !== 'dispatch.held') expect(lines).not.toMatch(/using queue_item_(?!pkey)/);
});

it('reads of the console, and sessions behind a transaction pooler, plan as Postgres would', async () => {
  const [db, pooled] = await Promise.all([testStore(), testStore({ poolMode: 'transaction' })]);
  expect(await howItPlans(db.api)).toBe('auto');
  expect(await howItPlans(pooled.service)).toBe('auto');
});
