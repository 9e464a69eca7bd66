import { systemIds } from '@headgate/domain';
import { cancelRun, cancelTask, deferredSignals } from '@headgate/store';
import { claimRun, runInStatus, seedRun, seedTenant, type TestStore, testStore } from '@headgate/testkit';
import { beforeEach, describe, expect, test } from 'vitest';
import { misplaced } from './place.js';
import { isLatchReleased, latchBehind, receiptsOf, rows, statusOf } from './rows.js';

const person = { actor: 'mona', reason: 'not needed' };

describe('cancel by a person', () => {
  let db: TestStore;
  beforeEach(async () => {
    db = await testStore();
  });

  test('Q5: a run: a repeated cancel gives the same end and writes nothing more', async () => {
    const run = await seedRun(db);
    expect(await cancelRun(db.service, run.runId, person)).toEqual({ result: 'ended', status: 'CANCELLED' });
    const events = () => rows(db, 'select count(*)::int as n from headgate.run_event');
    const before = await events();
    for (const _ of [1, 2]) {
      expect(await cancelRun(db.service, run.runId, person)).toEqual({
        result: 'terminal',
        status: 'CANCELLED',
      });
    }
    expect(await events()).toEqual(before);
    expect(await receiptsOf(db, run.runId)).toHaveLength(1);
    expect(await cancelRun(db.service, systemIds.next('run'), person)).toBeNull();
  });

  test('a run of a task: that version only; the task goes on, and what waits behind is released', async () => {
    const run = await seedRun(db);
    await latchBehind(db, run);
    await cancelRun(db.service, run.runId, person);
    expect(await rows(db, 'select cancelled_at from headgate.task')).toEqual([{ cancelled_at: null }]);
    expect(await isLatchReleased(db, run)).toBe(true);
  });

  test('Q5: a task: all its live runs, its latch and its deferred signals, each of these with a receipt', async () => {
    const tenant = await seedTenant(db);
    const spec = { onNewVersion: 'allow' } as const;
    const waiting = await seedRun(db, { tenant, workKey: 'k', spec });
    const leased = await seedRun(db, { tenant, workKey: 'k', spec });
    await claimRun(db, leased);
    await latchBehind(db, waiting);
    const other = await seedRun(db, { tenant });
    const stopped = await cancelTask(db.service, waiting.taskId, person);
    expect(stopped).toEqual(
      new Map([
        [waiting.runId, { result: 'ended', status: 'CANCELLED' }],
        [leased.runId, { result: 'requested', status: 'CANCEL_REQUESTED' }],
      ]),
    );
    expect(
      await rows(
        db,
        'select cancelled_at is not null as cancelled, cancelled_by, next_receipt_id from headgate.task where id = $1',
        [waiting.taskId],
      ),
    ).toEqual([{ cancelled: true, cancelled_by: 'mona', next_receipt_id: null }]);
    expect(await rows(db, 'select 1 from headgate.deferred_signal')).toEqual([]);
    const refused = await rows(
      db,
      `select r.outcome, r.input_version, p.reason_code as deferred from headgate.receipt r
         join headgate.receipt p on p.id = r.parent_receipt_id where r.reason_code = 'TASK_CANCELLED'`,
    );
    expect(refused).toEqual([{ outcome: 'reject', input_version: 'next', deferred: 'QUEUED_NEXT' }]);
    expect(await statusOf(db, other.runId)).toBe('QUEUED');
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('a task: a repeated cancel gives the same answer, tells it once and keeps who did it first', async () => {
    const run = await runInStatus(db, 'RUNNING');
    const first = await cancelTask(db.service, run.taskId, person);
    const again = await cancelTask(db.service, run.taskId, { actor: 'other', reason: null });
    expect([first?.get(run.runId)?.result, again?.get(run.runId)?.result]).toEqual(['requested', 'already']);
    expect(await rows(db, "select actor from headgate.run_event where type = 'task.cancelled'")).toEqual([
      { actor: 'mona' },
    ]);
    expect(await rows(db, 'select cancelled_by from headgate.task')).toEqual([{ cancelled_by: 'mona' }]);
    expect(await cancelTask(db.service, systemIds.next('task'), person)).toBeNull();
  });

  test('a latch whose run is gone without having released it is found and released, once', async () => {
    const [run, live] = [await seedRun(db), await seedRun(db)];
    await latchBehind(db, run);
    await latchBehind(db, live);
    await rows(db, "update headgate.task_version set outcome = 'SUCCEEDED' where run_id = $1", [run.runId]);
    const release = () => db.service.use((c) => deferredSignals.releaseOrphanLatches(c, 10, 'reconciler'));
    expect(await release()).toEqual([{ taskId: run.taskId }]);
    expect(await isLatchReleased(db, run)).toBe(true);
    expect(await isLatchReleased(db, live)).toBe(false);
    expect(await release()).toEqual([]);
  });
});
