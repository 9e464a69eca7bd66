import { describeWithTool, dispatchRun, eventually, testRedis } from '@headgate/testkit';
import { expect, it } from 'vitest';
import { eventsOf, rowsOf, type Workshop, workshop } from './workshop.js';

/** What is left of one run: its steps, its end, and what reached the forge. */
async function remains(shop: Workshop): Promise<unknown> {
  const { runId } = await shop.seed().then(async (run) => {
    const dispatchNo = await dispatchRun(shop.db, run);
    await shop.context.bus.publish([{ queue: 'default', runId: run.runId, dispatchNo, traceparent: null }]);
    return run;
  });
  await shop.reaches(runId, 'SUCCEEDED');
  return {
    events: await eventsOf(shop, runId),
    status: await shop.status(runId),
    attempts: await rowsOf(shop, 'select number, status, reason_code from headgate.attempt'),
    operations: await rowsOf(shop, 'select kind, state from headgate.operation'),
    pushes: (await shop.repository.pushes()).length,
    left: await rowsOf(
      shop,
      'select (select count(*)::int from headgate.lease) as leases, (select count(*)::int from headgate.queue_item) as items',
    ),
  };
}

describeWithTool('redis', 'transports', () => {
  it('C4, I19: a run that BullMQ announced and one that polling found leave the same behind', async () => {
    const hinted = await workshop({ redis: await testRedis() });
    await eventually(() => hinted.context.bus.health().state === 'healthy', { what: 'hints are healthy' });
    // A belt of an hour: without its hint this run would wait.
    await hinted.worker({ timing: { beltMs: 3_600_000, pollMs: 3_600_000 } });
    const polled = await workshop();
    await polled.worker();

    const [announced, found] = await Promise.all([remains(hinted), remains(polled)]);

    expect(announced).toEqual(found);
    expect(announced).toMatchObject({ pushes: 1, left: [{ leases: 0, items: 0 }] });
  });
});
