/** Security 4: a word is kept while a run may act by it, and then as long as the receipts that tell of the run. */
import type { RunId } from '@headgate/domain';
import { approvals } from '@headgate/store';
import { seedRun } from '@headgate/testkit';
import { expect, test } from 'vitest';
import { aWorld, type World } from './world.js';

/** Receipts of the policy are kept 90 days. */
const asked = (world: World, runId: RunId, askedDaysAgo: number, said: string | null): Promise<unknown> =>
  world.rows(
    `update headgate.approval
        set id = (left(headgate.uuid7_floor(now() - make_interval(days => $2))::text, 24) || right(id::text, 12))::uuid,
            outcome = case when $3::text is not null then 'approved' end, decided_at = now() - $3::interval
      where run_id = $1`,
    [runId, askedDaysAgo, said],
  );
const kept = async (world: World): Promise<readonly RunId[]> =>
  (await world.rows<{ runId: RunId }>('select run_id as "runId" from headgate.approval')).map(
    ({ runId }) => runId,
  );
const end = (world: World, runIds: readonly RunId[]): Promise<unknown> =>
  world.rows("update headgate.run set status = 'EXPIRED', finished_at = now() where id = any ($1::uuid[])", [
    runIds,
  ]);
const waiting = async (world: World, name: string): Promise<RunId> => {
  const { tenant } = world;
  return (await seedRun(world.db, { tenant, workKey: name, status: 'WAITING_APPROVAL' })).runId;
};

test('what nobody has answered is never trimmed; what was answered is, its days after it was said', async () => {
  const world = await aWorld();
  const [open, lately, long] = [
    await waiting(world, 'open'),
    await waiting(world, 'lately'),
    await waiting(world, 'long'),
  ];
  await asked(world, open, 200, null);
  await asked(world, lately, 93, '89 days');
  await asked(world, long, 93, '91 days');
  await end(world, [lately, long]);
  await world.reconciler().round('history');
  expect((await kept(world)).toSorted()).toEqual([open, lately].toSorted());
});

test('a run that lives keeps the word that it goes by, however long ago it was said', async () => {
  const world = await aWorld();
  const run = await waiting(world, 'slow');
  await asked(world, run, 200, '199 days');
  await world.reconciler().round('history');
  expect(await kept(world)).toEqual([run]);
  await end(world, [run]);
  await world.reconciler().round('history');
  expect(await kept(world)).toEqual([]);
});

test('many go in bounded steps, the longest asked first, and one round takes them all', async () => {
  const world = await aWorld();
  await world.rows(
    `insert into headgate.approval
       (id, tenant_id, run_id, subject, policy_version, operations, four_eyes, expires_at, outcome, decided_at)
     select (left(headgate.uuid7_floor(now() - interval '100 days')::text, 24) || lpad(to_hex(n), 12, '0'))::uuid, $1::int,
            headgate.uuid7(n), 'proposal', 1, '[]'::jsonb, false, now(), 'expired', now() - interval '95 days'
       from generate_series(1, 4500) n`,
    [world.tenant.id],
  );
  const first = await world.db.service.use((c) => approvals.forget(c, 100, 90));
  const [oldest] = await world.rows<{ n: number }>(
    `select ('x' || right(min(id::text), 8))::bit(32)::int as n from headgate.approval`,
  );
  expect({ first, oldest: oldest?.n }).toEqual({ first: 100, oldest: 101 });
  await world.reconciler().round('history');
  expect(await kept(world)).toEqual([]);
});
