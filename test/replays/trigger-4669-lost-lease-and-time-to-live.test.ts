/**
 * trigger.dev #4669: a lease is lost and its run requeued while its time to live lapses. It ends EXPIRED with an event,
 * or it runs; it never vanishes. With us the time to live bounds the wait before the first claim only.
 */
import { reap } from '@headgate/store';
import { describe, expect, it } from 'vitest';
import { claimRuns, dispatchedItems } from '../world/claims.js';
import { CHECKS, policyFrom } from '../world/policy.js';
import { submissionOf } from '../world/signals.js';
import { aDispatcher, anAdmission, aWorker, aWorld } from '../world/world.js';

async function aRunWithAnHourToLive() {
  const world = await aWorld(
    await policyFrom(`${CHECKS}    timeToLive: 1h
    retry: { backoff: 10ms }`),
  );
  const { admission } = anAdmission(world);
  await admission.submit(submissionOf());
  const worker = await aWorker(world, 1);
  const dispatcher = aDispatcher(world);
  await dispatcher.scan();
  return { world, worker, dispatcher };
}

describe('trigger.dev #4669', () => {
  it('Q4: a run that was claimed once and lost its worker goes on, whatever its time to live says', async () => {
    const { world, worker, dispatcher } = await aRunWithAnHourToLive();
    await dispatcher.turn({ wait: true });
    await claimRuns(world, worker, await dispatchedItems(world));
    await world.sql("update headgate.lease set expires_at = now() - interval '1 s'");
    await reap(world.database.service, { limit: 10, graceMs: 60_000, actor: 'test', random: () => 0 });

    await world.sql(
      "update headgate.queue_item set visible_at = now(), expires_at = case when expires_at is null then null else now() - interval '1 s' end",
    );
    await dispatcher.upkeep();

    expect(await dispatcher.turn({ wait: true })).toBe(1);
    const runs = await world.sql<Record<string, unknown>>('select status, attempt_no from headgate.run');
    expect(runs).toEqual([{ status: 'QUEUED', attempt_no: 1 }]);
  });

  it('Q4: a run that nobody claimed in time ends EXPIRED with an event, also when it was dispatched', async () => {
    const { world, dispatcher } = await aRunWithAnHourToLive();
    await dispatcher.turn({ wait: true });
    await world.sql("update headgate.queue_item set expires_at = now() - interval '1 s'");
    await dispatcher.upkeep();

    expect(await world.sql('select 1 from headgate.queue_item')).toEqual([]);
    const [event] = await world.sql<Record<string, unknown>>(
      "select type, from_status, to_status, reason_code from headgate.run_event where to_status = 'EXPIRED'",
    );
    expect(event).toEqual({
      type: 'run.expired',
      from_status: 'QUEUED',
      to_status: 'EXPIRED',
      reason_code: 'TIME_TO_LIVE_EXPIRED',
    });
  });
});
