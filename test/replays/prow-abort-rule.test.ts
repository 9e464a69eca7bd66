/** prow's abort rule: the newer push first, the older second. The newer is untouched, the older superseded. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimRuns, dispatchedItems } from '../world/claims.js';
import { sha, submissionOf } from '../world/signals.js';
import { aDispatcher, anAdmission, aWorker, aWorld } from '../world/world.js';

const push = (name: string, minute: number) =>
  submissionOf({ inputVersion: sha(name), sourceAt: new Date(Date.UTC(2026, 0, 1, 0, minute)) });

describe('prow: the abort rule', () => {
  it('I4: the older push that arrives second is superseded, and the newer one runs on', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const newer = await admission.submit(push('b', 2));
    const worker = await aWorker(world, 1);
    const dispatcher = aDispatcher(world);
    await dispatcher.scan();
    await dispatcher.turn({ wait: true });
    await claimRuns(world, worker, await dispatchedItems(world));

    const older = await admission.submit(push('a', 1));

    expect(older).toMatchObject({ outcome: 'reject', reasonCode: 'SUPERSEDED', runId: null });
    const runs = await world.sql<Record<string, unknown>>('select id, status from headgate.run');
    expect(runs).toEqual([{ id: newer.runId, status: 'CLAIMED' }]);
    const [lease] = await world.sql<{ control: string | null }>('select control from headgate.lease');
    expect(lease?.control).toBeNull();
  });

  it('I4: a newer push asks the running older one to stop, and waits for it', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const older = await admission.submit(push('a', 1));
    const worker = await aWorker(world, 2);
    const dispatcher = aDispatcher(world);
    await dispatcher.scan();
    await dispatcher.turn({ wait: true });
    await claimRuns(world, worker, await dispatchedItems(world));

    const newer = await admission.submit(push('b', 2));
    await dispatcher.scan();

    expect(newer.reasonCode).toBe('ADMITTED');
    expect(await dispatcher.turn({ wait: true })).toBe(0);
    const [run] = await world.sql<Record<string, unknown>>(
      'select r.status, r.reason_code, l.control from headgate.run r join headgate.lease l on l.run_id = r.id where r.id = $1',
      [older.runId],
    );
    expect(run).toEqual({ status: 'CANCEL_REQUESTED', reason_code: 'SUPERSEDED', control: 'supersede' });
  });

  it('I4: whatever the order of arrival, the newest push is the one that is left', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    let target = 0;
    const order = fc.shuffledSubarray([1, 2, 3, 4], { minLength: 4 });
    await fc.assert(
      fc.asyncProperty(order, async (minutes) => {
        target += 1;
        const where = {
          target: { kind: 'pull_request', id: String(target), ref: 't', aspect: 'unit' },
        } as const;
        for (const minute of minutes) {
          const asked = push(String(minute), minute);
          await admission.submit({ ...asked, signal: { ...asked.signal, ...where } });
        }
        const left = await world.sql<{ input_version: string }>(
          "select r.input_version from headgate.run r join headgate.task t on t.id = r.task_id where t.work_key = $1 and r.status = 'QUEUED'",
          [`42/pr/${target}/check/unit`],
        );
        expect(left).toEqual([{ input_version: sha('4') }]);
      }),
      { numRuns: 12 },
    );
  });
});
