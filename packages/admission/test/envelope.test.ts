import { expect, it } from 'vitest';
import { CHECKS, policyFrom, withRoute } from '../../../test/world/policy.js';
import { sha, submissionOf } from '../../../test/world/signals.js';
import { anAdmission, aWorld } from '../../../test/world/world.js';

it('I20: a deferred envelope carries its version; one of a newer process waits for such a one, and holds up no other', async () => {
  const world = await aWorld(withRoute(await policyFrom(CHECKS), { onNewVersion: 'queueOne' }));
  const { admission } = anAdmission(world);
  await admission.submit(submissionOf({ inputVersion: sha('a') }));
  expect((await admission.submit(submissionOf({ inputVersion: sha('b') }))).reasonCode).toBe('QUEUED_NEXT');
  const versions = () =>
    world.sql<{ version: number; due: boolean }>(
      `select (candidate ->> 'version')::int as version, due_at <= clock_timestamp() as due
         from headgate.deferred_signal order by id`,
    );
  expect(await versions()).toMatchObject([{ version: 1 }]);
  await world.sql(
    `insert into headgate.deferred_signal (id, tenant_id, receipt_id, reason_code, due_at, candidate)
     select gen_random_uuid(), tenant_id, receipt_id, 'DEBOUNCED', now() - interval '1 hour',
            jsonb_set(candidate, '{version}', '2') from headgate.deferred_signal`,
  );
  await world.sql("update headgate.deferred_signal set due_at = now() where candidate ->> 'version' = '1'");
  await admission.promoteDue(10);
  const left = await versions();
  expect(left.filter(({ version }) => version === 2)).toEqual([{ version: 2, due: false }]);
  // The other one was decided: its run is still under way, so it waits behind it again.
  expect(left.filter(({ due }) => due)).toEqual([]);
  const again = await world.sql('select 1 from headgate.receipt where parent_receipt_id is not null');
  expect(again).toHaveLength(1);
});
