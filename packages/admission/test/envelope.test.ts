import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reviveDeferred } from '@headgate/admission';
import { systemIds } from '@headgate/domain';
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

const FOLDER = join(import.meta.dirname, 'envelopes');
/** As they were written by earlier versions; never edited. */
const RECORDED = readdirSync(FOLDER);

it.each(RECORDED)(
  'I20: an envelope that an earlier version kept is decided by this one: %s',
  async (name) => {
    const recorded: unknown = JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));
    const world = await aWorld(await policyFrom(CHECKS));
    const { admission } = anAdmission(world);
    const first = await admission.submit(submissionOf({ eventId: 'other', type: 'github.star.created' }));
    await world.sql(
      `insert into headgate.deferred_signal (id, tenant_id, receipt_id, reason_code, due_at, candidate)
     select $1, tenant_id, id, 'SOURCE_UNAVAILABLE', now() - interval '1 minute', $2
       from headgate.receipt where id = $3`,
      [systemIds.next('dfr'), JSON.stringify(recorded), first.receiptId],
    );
    expect(await admission.promoteDue(10)).toBe(1);
    const decided = await world.sql<{ reason: string; version: string; at: Date; parent: string }>(
      `select reason_code as reason, input_version as version, emitted_at as at, parent_receipt_id as parent
       from headgate.receipt where parent_receipt_id is not null`,
    );
    const { signal } = reviveDeferred(recorded);
    expect(decided).toEqual([
      { reason: 'ADMITTED', version: signal.inputVersion, at: signal.emittedAt, parent: first.receiptId },
    ]);
    // What nobody knows passes.
    const [run] = await world.sql<{ target: unknown }>(`select spec->'target' as target from headgate.run`);
    expect(run?.target).toEqual(signal.target);
  },
);
