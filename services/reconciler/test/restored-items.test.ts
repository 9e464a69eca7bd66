/** What admission counts a run for, a repair counts it for too. */
import { Admission } from '@headgate/admission';
import { aPolicy, aRoute, aSignal, withClient } from '@headgate/testkit';
import { expect, test } from 'vitest';
import { aWorld } from './world.js';

test('Q27, Q22: a lost item comes back with organisation, repository, user, risk and key as admission wrote them', async () => {
  const route = aRoute({
    risk: 'HIGH',
    headStartSeconds: 14_400,
    timeToLiveMs: 3_600_000,
    concurrency: { key: 'deploy', limit: 3 },
    onNewVersion: 'allow',
  });
  const world = await aWorld({ policy: aPolicy({ routes: [route] }) });
  const { context } = world;
  const admission = new Admission({
    pool: context.database.service,
    dimensions: context.dimensions,
    ids: context.ids,
    logger: context.logger,
    policy: () => context.policy.current(),
  });
  const { runId } = await admission.submit({ signal: aSignal(), tenant: 'default', payload: null });
  const read = () =>
    world.rows<Record<string, unknown>>(
      `select tenant_id, state, waits, task_id, exclusive_task, organisation_id, repository_id, user_id, task_type_id,
              risk, queue_id, agent_id, provider_id, sandbox_id, encode(concurrency_key, 'hex') as key,
              concurrency_limit, tokens_per_minute, reserved_usd,
              round(extract(epoch from expires_at - enqueued_at)) as ttl,
              round(extract(epoch from enqueued_at - rank_at)) as head_start
         from headgate.queue_item where run_id = $1`,
      [runId],
    );
  const [before] = await read();
  expect(before).toMatchObject({ risk: 2, concurrency_limit: 3, exclusive_task: false, head_start: 14_400 });
  for (const dimension of ['organisation_id', 'repository_id', 'user_id']) {
    expect(before?.[dimension]).toEqual(expect.any(Number));
  }
  await withClient(world.db.urls.ownerUrl, (owner) => owner.query('delete from headgate.queue_item'));
  await world.reconciler().round('stranded-runs');
  expect(await read()).toEqual([before]);
});
