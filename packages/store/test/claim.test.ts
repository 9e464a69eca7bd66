import { formatId, systemIds } from '@headgate/domain';
import { type ClaimRequest, type ClaimResult, claim, type Hinted, workers } from '@headgate/store';
import {
  aRunSpec,
  claimRun,
  finishRun,
  offerRun,
  offerRuns,
  type SeededRun,
  seedRun,
  seedRuns,
  seedTenant,
  seedWorker,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { beforeEach, describe, expect, test } from 'vitest';
import { misplaced } from './place.js';
import { rows, statusOf, stepsOf } from './rows.js';

const hintOf = ({ runId }: Pick<SeededRun, 'runId'>, dispatchNo: number): Hinted => ({
  runId,
  dispatchNo,
  attemptId: systemIds.next('att'),
  leaseId: systemIds.next('lease'),
  judgedAgoMs: 0,
});

async function claimWith(db: TestStore, hinted: readonly Hinted[], change: Partial<ClaimRequest> = {}) {
  const tenant = await seedTenant(db);
  const workerId = change.workerId ?? (await seedWorker(db, { queueIds: [tenant.queueId] }));
  return claim(db.service, {
    queueIds: [tenant.queueId],
    ttlMs: 60_000,
    policyVersion: tenant.policyVersion,
    hinted,
    limit: 10,
    verdictMaxAgeMs: 30_000,
    ...change,
    workerId,
  });
}

const takenBy = (result: ClaimResult): readonly string[] =>
  result.kind === 'claimed' ? result.runs.map((run) => run.runId) : [];
const NOTHING = { kind: 'claimed', runs: [], busy: [] };

describe('claim', () => {
  let db: TestStore;
  beforeEach(async () => {
    db = await testStore();
  });

  test('Q13: a claim moves the item to a lease, opens an attempt and tells who holds it', async () => {
    const run = await seedRun(db, { receipt: { traceparent: '00-1-2-01' } });
    const workerId = await seedWorker(db, { queueIds: [run.tenant.queueId] });
    const [hint] = await offerRuns(db, [run]);
    if (hint === undefined) throw new Error('not offered');
    const result = await claimWith(db, [hint], { workerId });
    if (result.kind !== 'claimed') throw new Error(result.kind);
    const [taken] = result.runs;
    expect(taken).toMatchObject({
      runId: run.runId,
      taskId: run.taskId,
      receiptId: run.receiptId,
      tenantId: run.tenant.id,
      inputVersion: run.inputVersion,
      attemptNo: 1,
      attemptId: hint.attemptId,
      leaseId: hint.leaseId,
      sealed: false,
      branch: null,
      firstStartedAt: null,
      traceparent: '00-1-2-01',
      failures: { application: 0, infrastructure: 0, leaseLost: 0, rateLimit: 0 },
    });
    expect(taken?.fencingToken).toMatch(/^\d+$/);
    const held = await rows(
      db,
      `select l.worker_id, l.attempt_id, l.lease_id, l.fencing_token::text as token, l.exclusive_task_id, l.exclusive_key,
              l.dispatch_no, l.expires_at - l.acquired_at between '59 s' and '61 s' as "isTtl",
              a.number, a.status, a.lease_id as "attemptLease", a.fencing_token::text as "attemptToken"
         from headgate.lease l join headgate.attempt a on a.id = l.attempt_id`,
    );
    expect(held).toEqual([
      {
        worker_id: workerId,
        attempt_id: hint.attemptId,
        lease_id: hint.leaseId,
        token: taken?.fencingToken,
        exclusive_task_id: run.taskId,
        exclusive_key: null,
        dispatch_no: 1,
        isTtl: true,
        number: 1,
        status: 'running',
        attemptLease: hint.leaseId,
        attemptToken: taken?.fencingToken,
      },
    ]);
    const told = await rows(
      db,
      `select lease_id, fencing_token::text as token, attempt_no, actor from headgate.run_event where to_status = 'CLAIMED'`,
    );
    expect(told).toEqual([
      {
        lease_id: hint.leaseId,
        token: taken?.fencingToken,
        attempt_no: 1,
        actor: `worker:${formatId('wkr', workerId)}`,
      },
    ]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('another policy is active: nothing is claimed and the head is told', async () => {
    const run = await seedRun(db);
    const dispatchNo = await offerRun(db, run);
    const head = run.tenant.policyVersion;
    expect(await claimWith(db, [hintOf(run, dispatchNo)], { policyVersion: head + 1 })).toEqual({
      kind: 'policy-changed',
      head,
    });
    expect(await statusOf(db, run.runId)).toBe('QUEUED');
  });

  test('Q20: a worker that is not READY, or unknown, claims nothing', async () => {
    const run = await seedRun(db);
    const hint = hintOf(run, await offerRun(db, run));
    const workerId = await seedWorker(db, { queueIds: [run.tenant.queueId] });
    await db.service.use((c) => workers.setState(c, workerId, 'DRAINING'));
    expect(await claimWith(db, [hint], { workerId })).toEqual({ kind: 'not-ready' });
    expect(await claimWith(db, [hint], { workerId: systemIds.next('wkr') })).toEqual({ kind: 'not-ready' });
  });

  test('nothing asked, or no free slot: nothing is claimed, without a word to the database', async () => {
    const run = await seedRun(db);
    const hint = hintOf(run, await offerRun(db, run));
    expect(await claimWith(db, [hint], { limit: 0 })).toEqual(NOTHING);
    expect(await claimWith(db, [])).toEqual(NOTHING);
  });

  test('INV-HI2: an old, unknown or repeated hint, another queue, an old verdict: none makes work', async () => {
    const run = await seedRun(db);
    const dispatchNo = await offerRun(db, run);
    const hint = hintOf(run, dispatchNo);
    expect(await claimWith(db, [{ ...hint, dispatchNo: dispatchNo - 1 }])).toEqual(NOTHING);
    expect(await claimWith(db, [{ ...hint, runId: systemIds.next('run') }])).toEqual(NOTHING);
    expect(await claimWith(db, [hint], { queueIds: [run.tenant.queueId + 1] })).toEqual(NOTHING);
    expect(await claimWith(db, [{ ...hint, judgedAgoMs: 30_001 }])).toEqual(NOTHING);
    expect(takenBy(await claimWith(db, [hint, hint, hint]))).toEqual([run.runId]);
    expect(await claimWith(db, [hintOf(run, dispatchNo)])).toEqual(NOTHING);
    expect(await rows(db, 'select count(*)::int as n from headgate.attempt')).toEqual([{ n: 1 }]);
  });

  test('INV-LE7: never more rows than free slots', async () => {
    const hinted = await offerRuns(db, await seedRuns(db, 5));
    expect(takenBy(await claimWith(db, hinted, { limit: 2 }))).toHaveLength(2);
    const again = hinted.map(({ dispatchNo, runId }) => hintOf({ runId }, dispatchNo));
    expect(takenBy(await claimWith(db, again, { limit: 10 }))).toHaveLength(3);
  });

  test('Q3: two workers with the same hints share them: each run is claimed once', async () => {
    const hinted = await offerRuns(db, await seedRuns(db, 12));
    const results = await Promise.all(
      [1, 2, 3, 4].map(() =>
        claimWith(
          db,
          hinted.map((hint) => ({
            ...hint,
            attemptId: systemIds.next('att'),
            leaseId: systemIds.next('lease'),
          })),
          { limit: 5 },
        ),
      ),
    );
    const taken = results.flatMap(takenBy);
    expect(new Set(taken).size).toBe(taken.length);
    expect(await rows(db, 'select count(*)::int as n from headgate.lease')).toEqual([{ n: taken.length }]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('a run or a task that was cancelled is not claimed', async () => {
    const [stopped, kept] = [await seedRun(db), await seedRun(db)];
    const hinted = await offerRuns(db, [stopped, kept]);
    await rows(db, 'update headgate.task set cancelled_at = now() where id = $1', [stopped.taskId]);
    expect(takenBy(await claimWith(db, hinted))).toEqual([kept.runId]);
  });

  test('INV-LE8: rivals for a key of limit 1: one is claimed, the other is busy, uncharged and ready again', async () => {
    const list = await seedRuns(db, 2, { concurrency: { key: 'deploy', limit: 1 } });
    const hinted = await offerRuns(db, list);
    const result = await claimWith(db, hinted);
    if (result.kind !== 'claimed') throw new Error(result.kind);
    expect([result.runs.length, result.busy.length]).toEqual([1, 1]);
    const items = await rows(
      db,
      'select run_id, state, verdict, dispatch_no, dispatched_at from headgate.queue_item',
    );
    expect(items).toEqual([
      {
        run_id: result.busy[0],
        state: 'ready',
        verdict: 'CONCURRENCY_KEY_BUSY',
        dispatch_no: 1,
        dispatched_at: null,
      },
    ]);
    expect(await rows(db, 'select count(*)::int as n from headgate.attempt')).toEqual([{ n: 1 }]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('two versions of one task are kept apart, unless the route allows several at once', async () => {
    for (const [onNewVersion, expected] of [
      ['cancelOther', 1],
      ['allow', 2],
    ] as const) {
      const workKey = `key-${onNewVersion}`;
      const list = [
        await seedRun(db, { workKey, spec: { onNewVersion } }),
        await seedRun(db, { workKey, spec: { onNewVersion } }),
      ];
      expect(takenBy(await claimWith(db, await offerRuns(db, list))), onNewVersion).toHaveLength(expected);
    }
  });

  test('a key of limit 2 is no unique key: its rivals may be claimed together', async () => {
    const list = await seedRuns(db, 2, { concurrency: { key: 'deploy', limit: 2 } });
    expect(takenBy(await claimWith(db, await offerRuns(db, list)))).toHaveLength(2);
  });

  test('INV-LE1: fencing tokens of a run grow, its attempts count on, and its first start stays', async () => {
    const run = await seedRun(db);
    const first = await claimRun(db, run);
    await finishRun(db, first, { kind: 'handed-back', reasonCode: 'WORKER_DRAINED', retryAfterMs: null });
    const [hint] = await offerRuns(db, [run]);
    if (hint === undefined) throw new Error('not offered');
    expect(hint.dispatchNo).toBe(2);
    const result = await claimWith(db, [hint]);
    if (result.kind !== 'claimed') throw new Error(result.kind);
    const [again] = result.runs;
    expect(again?.attemptNo).toBe(2);
    expect(BigInt(again?.fencingToken ?? 0)).toBeGreaterThan(BigInt(first.fence.fencingToken));
    expect(again?.firstStartedAt).toBeInstanceOf(Date);
    expect(await stepsOf(db, run.runId)).toEqual([
      'QUEUED',
      'QUEUED -> CLAIMED',
      'CLAIMED -> FAILED_RETRYABLE',
      'FAILED_RETRYABLE -> QUEUED',
      'QUEUED -> CLAIMED',
    ]);
  });

  test('a lease may be renewed for the sum of its stages and a minute, and begins no longer than that', async () => {
    const limits = {
      ...aRunSpec().limits,
      sandboxStartMs: 1,
      wallClockMs: 20,
      verifyMs: 300,
      finalizeMs: 4_000,
    };
    const run = await seedRun(db, { spec: aRunSpec({ limits }) });
    await claimWith(db, [hintOf(run, await offerRun(db, run))], { ttlMs: 90_000 });
    const [lease] = await rows<{ expires: number; renew: number }>(
      db,
      `select round(extract(epoch from expires_at - acquired_at) * 1000)::int as expires,
              round(extract(epoch from renew_until - acquired_at) * 1000)::int as renew
         from headgate.lease where run_id = $1`,
      [run.runId],
    );
    expect(lease).toEqual({ expires: 64_321, renew: 64_321 });
  });
});
