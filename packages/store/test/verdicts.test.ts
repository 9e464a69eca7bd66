import { writeVerdicts } from '@headgate/store';
import {
  dispatchRun,
  dispatchRuns,
  type SeededRun,
  seedRun,
  seedRuns,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { beforeEach, describe, expect, test } from 'vitest';
import { misplaced } from './place.js';
import { rows, statusOf } from './rows.js';
import { holdRows, sessionsWait } from './sessions.js';

describe('verdicts before the lease', () => {
  let db: TestStore;
  beforeEach(async () => {
    db = await testStore();
  });

  test('I6: a stale run ends NO_WORK without a lease, with its receipt and tombstone', async () => {
    const run = await seedRun(db);
    const dispatchNo = await dispatchRun(db, run);
    const verdict = { kind: 'end', to: 'NO_WORK', reasonCode: 'STALE_INPUT', detail: 'head moved' } as const;
    expect(await writeVerdicts(db.service, [{ runId: run.runId, dispatchNo, verdict }], 'worker')).toEqual(
      new Set([run.runId]),
    );
    const ended = await rows(
      db,
      `select r.status, r.reason_code, r.reason_detail, v.outcome, c.outcome as receipt, c.parent_receipt_id, c.attempt_no
         from headgate.run r join headgate.task_version v on v.run_id = r.id
         join headgate.receipt c on c.run_id = r.id and c.kind = 'closing'`,
    );
    expect(ended).toEqual([
      {
        status: 'NO_WORK',
        reason_code: 'STALE_INPUT',
        reason_detail: 'head moved',
        outcome: 'NO_WORK',
        receipt: 'no-work',
        parent_receipt_id: run.receiptId,
        attempt_no: null,
      },
    ]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('a deferred run waits for capacity with a delayed item, uncharged; when due it is queued again', async () => {
    const run = await seedRun(db);
    const dispatchNo = await dispatchRun(db, run);
    const verdict = {
      kind: 'defer',
      reasonCode: 'SOURCE_UNAVAILABLE',
      delayMs: 60_000,
      detail: null,
    } as const;
    await writeVerdicts(db.service, [{ runId: run.runId, dispatchNo, verdict }], 'worker');
    const waiting = await rows(
      db,
      `select r.status, r.reason_code, r.attempt_no, q.state, q.waits, q.dispatched_at, q.verdict,
              q.visible_at > clock_timestamp() + interval '50 s' as later
         from headgate.run r join headgate.queue_item q on q.run_id = r.id`,
    );
    expect(waiting).toEqual([
      {
        status: 'WAITING_CAPACITY',
        reason_code: 'SOURCE_UNAVAILABLE',
        attempt_no: 0,
        state: 'delayed',
        waits: 'capacity',
        dispatched_at: null,
        verdict: 'SOURCE_UNAVAILABLE',
        later: true,
      },
    ]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('a verdict under an old dispatch number writes nothing, whatever it says', async () => {
    const run = await seedRun(db);
    const old = await dispatchRun(db, run);
    await rows(db, "update headgate.queue_item set state = 'ready', dispatched_at = null");
    const now = await dispatchRun(db, run);
    expect(now).toBe(old + 1);
    for (const verdict of [
      { kind: 'end', to: 'NO_WORK', reasonCode: 'STALE_INPUT', detail: null },
      { kind: 'defer', reasonCode: 'SOURCE_UNAVAILABLE', delayMs: 1, detail: null },
    ] as const) {
      expect(await writeVerdicts(db.service, [{ runId: run.runId, dispatchNo: old, verdict }], 'w')).toEqual(
        new Set(),
      );
    }
    expect(await rows(db, 'select state, verdict from headgate.queue_item')).toEqual([
      { state: 'dispatched', verdict: null },
    ]);
  });

  test('workers that judge the same items in opposite orders wait for each other at the first, and do not deadlock', async () => {
    const list = (await seedRuns(db, 2)).toSorted((a, b) => (a.runId < b.runId ? -1 : 1));
    const [low, high] = list;
    if (low === undefined || high === undefined) throw new Error('nothing was seeded');
    const numbers = await dispatchRuns(db, list);
    const verdict = {
      kind: 'defer',
      reasonCode: 'SOURCE_UNAVAILABLE',
      delayMs: 60_000,
      detail: null,
    } as const;
    const deferred = list.map(({ runId }, at) => ({ runId, dispatchNo: numbers[at] ?? 0, verdict }));
    const held = await holdRows(db, 'select 1 from headgate.queue_item where run_id = $1 for update', [
      low.runId,
    ]);
    const judged = [deferred, deferred.toReversed()].map((batch) =>
      writeVerdicts(db.service, batch, 'worker'),
    );
    await sessionsWait(db, 2);
    // Neither has the second item yet.
    expect(
      await rows(db, 'select 1 as free from headgate.queue_item where run_id = $1 for update skip locked', [
        high.runId,
      ]),
    ).toEqual([{ free: 1 }]);
    await held.release();
    const sizes = (await Promise.all(judged)).map((written) => written.size);
    expect(sizes.toSorted()).toEqual([0, 2]);
  });

  test('one batch may hold every kind; each run gets its own', async () => {
    const list = await seedRuns(db, 3);
    const [gone, denied, later] = list;
    if (!gone || !denied || !later) throw new Error('nothing was seeded');
    const numbers = await Promise.all(list.map((run) => dispatchRun(db, run)));
    const row = (run: SeededRun, verdict: Parameters<typeof writeVerdicts>[1][number]['verdict']) => ({
      runId: run.runId,
      dispatchNo: numbers[list.indexOf(run)] ?? 0,
      verdict,
    });
    const written = await writeVerdicts(
      db.service,
      [
        row(gone, { kind: 'end', to: 'SUPERSEDED', reasonCode: 'SUPERSEDED', detail: null }),
        row(denied, { kind: 'end', to: 'POLICY_DENIED', reasonCode: 'POLICY_DENIED', detail: null }),
        row(later, { kind: 'defer', reasonCode: 'SOURCE_UNAVAILABLE', delayMs: 1, detail: null }),
      ],
      'worker',
    );
    expect(written.size).toBe(3);
    expect(await Promise.all(list.map((run) => statusOf(db, run.runId)))).toEqual([
      'SUPERSEDED',
      'POLICY_DENIED',
      'WAITING_CAPACITY',
    ]);
    expect(await misplaced(db.service)).toEqual([]);
  });
});
