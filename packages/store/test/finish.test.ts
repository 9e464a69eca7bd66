import { systemIds } from '@headgate/domain';
import { type AttemptOutcome, cancelRun, createLedger, enterStages, finish } from '@headgate/store';
import {
  claimRun,
  finishRun,
  needsApproval,
  type RunSeed,
  type SeededLease,
  type SeededRun,
  seedRun,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { beforeEach, describe, expect, test } from 'vitest';
import { misplaced } from './place.js';
import { isLatchReleased, latchBehind, receiptsOf, rows, statusOf, stepsOf } from './rows.js';

const failed = (
  reasonCode: 'AGENT_FAILED' | 'SETUP_FAILED' | 'SANDBOX_FAILED' | 'PROVIDER_RATE_LIMIT',
  retryAfterMs: number | null = null,
): AttemptOutcome => ({
  kind: 'failed',
  reasonCode,
  detail: 'exit 1',
  retryAfterMs,
});

describe('finish', () => {
  let db: TestStore;
  beforeEach(async () => {
    db = await testStore();
  });
  const running = async (seed: RunSeed = {}): Promise<{ run: SeededRun; lease: SeededLease }> => {
    const run = await seedRun(db, seed);
    const lease = await claimRun(db, run);
    await enterStages(db.service, [{ fence: lease.fence, to: 'RUNNING', actor: 'worker' }]);
    return { run, lease };
  };

  test('INV-ST6: success writes status, attempt, cost, tombstone, receipt and events together, and frees the slot', async () => {
    const { run, lease } = await running();
    const answer = await finishRun(db, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' }, 1.25);
    expect(answer).toMatchObject({ kind: 'finished', status: 'SUCCEEDED', retryInMs: null });
    const state = await rows(
      db,
      `select r.status, r.reason_code, r.cost_usd, r.finished_at is not null as "isFinished", a.status as attempt,
              a.reason_code as why, a.cost_usd as "attemptCost", a.evidence, v.outcome, d.settled_usd,
              d.day = (now() at time zone 'UTC')::date as "isToday"
         from headgate.run r join headgate.attempt a on a.run_id = r.id join headgate.task_version v on v.run_id = r.id
         join headgate.tenant_day d on d.tenant_id = r.tenant_id`,
    );
    expect(state).toEqual([
      {
        status: 'SUCCEEDED',
        reason_code: 'SUCCEEDED',
        cost_usd: 1.25,
        isFinished: true,
        attempt: 'succeeded',
        why: 'SUCCEEDED',
        attemptCost: 1.25,
        evidence: { test: true },
        outcome: 'SUCCEEDED',
        settled_usd: 1.25,
        isToday: true,
      },
    ]);
    expect(await misplaced(db.service)).toEqual([]);
    expect(await finishRun(db, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' }, 1.25)).toEqual({
      kind: 'lost',
    });
    expect(await rows(db, 'select settled_usd from headgate.tenant_day')).toEqual([{ settled_usd: 1.25 }]);
    expect(await receiptsOf(db, run.runId)).toHaveLength(1);
  });

  test('I5: the closing receipt carries execution and mutation identity, under the receipt that admitted the run', async () => {
    const { run, lease } = await running({ concurrency: { key: 'deploy', limit: 1 } });
    const ledger = createLedger(db.service, { tenantId: run.tenant.id, ids: systemIds, actor: 'applier' });
    await ledger.intend({ key: 'push:k', kind: 'push', fence: lease.fence, intent: { ref: 'x' } });
    await ledger.attempt({ key: 'push:k', fence: lease.fence });
    await ledger.confirm({ key: 'push:k', evidence: { sha: 'b' }, externalId: 'refs/heads/x@b', url: null });
    await finishRun(db, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
    const [receipt] = await receiptsOf(db, run.runId);
    expect(receipt).toMatchObject({
      kind: 'closing',
      outcome: 'accept',
      reason_code: 'SUCCEEDED',
      rule: 'run.end',
      trigger: 'event',
      via: 'webhook',
      source: 'acme',
      route: 'fix-failing-check',
      parent_receipt_id: run.receiptId,
      work_key: run.workKey,
      input_version: run.inputVersion,
      generation: 1,
      task_id: run.taskId,
      run_id: run.runId,
      attempt_no: 1,
      lease_id: lease.leaseId,
      fencing_token: lease.fence.fencingToken,
      concurrency_key: 'deploy',
      mutations: [{ operationKey: 'push:k', externalId: 'refs/heads/x@b', status: 'confirmed' }],
    });
  });

  test('Q18: a retryable failure waits delayed, keeps its place and its dispatch number, and counts by cause', async () => {
    const { run, lease } = await running({ headStartSeconds: 3_600 });
    const born = await rows(db, 'select created_at from headgate.run');
    const answer = await finishRun(db, lease, failed('AGENT_FAILED'));
    expect(answer).toMatchObject({ kind: 'finished', status: 'QUEUED', retryInMs: 1_000 });
    const item = await rows(
      db,
      `select q.state, q.waits, q.dispatch_no, q.expires_at, q.exclusive_task, q.enqueued_at = r.created_at as "keepsPlace",
              extract(epoch from q.enqueued_at - q.rank_at)::int as "headStart", r.failures_application as application,
              r.attempt_no, a.status, a.reason_code
         from headgate.queue_item q join headgate.run r on r.id = q.run_id join headgate.attempt a on a.run_id = r.id`,
    );
    expect(born).toHaveLength(1);
    expect(item).toEqual([
      {
        state: 'delayed',
        waits: 'backoff',
        dispatch_no: 1,
        expires_at: null,
        exclusive_task: true,
        keepsPlace: true,
        headStart: 3_600,
        application: 1,
        attempt_no: 1,
        status: 'failed',
        reason_code: 'AGENT_FAILED',
      },
    ]);
    expect((await stepsOf(db, run.runId)).slice(-2)).toEqual([
      'RUNNING -> FAILED_RETRYABLE',
      'FAILED_RETRYABLE -> QUEUED',
    ]);
    expect(await receiptsOf(db, run.runId)).toEqual([]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('Q18: when its attempts are used up it ends FAILED with a dead letter that holds the evidence', async () => {
    const { run, lease } = await running();
    let answer = await finishRun(db, lease, failed('AGENT_FAILED'));
    for (let attempt = 2; attempt <= 3; attempt += 1) {
      await rows(db, "update headgate.queue_item set state = 'ready', waits = null");
      answer = await finishRun(db, await claimRun(db, run), failed('AGENT_FAILED'));
    }
    expect(answer).toMatchObject({ kind: 'finished', status: 'FAILED' });
    const letters = await rows<{ reason_code: string; evidence: { attempts: unknown[] } }>(
      db,
      'select reason_code, evidence from headgate.dead_letter',
    );
    expect(letters).toMatchObject([{ reason_code: 'ATTEMPTS_EXHAUSTED' }]);
    expect(letters[0]?.evidence.attempts).toMatchObject([
      { number: 1, status: 'failed', reasonCode: 'AGENT_FAILED', detail: 'exit 1' },
      { number: 2 },
      { number: 3 },
    ]);
    expect(await rows(db, 'select outcome from headgate.task_version')).toEqual([{ outcome: 'FAILED' }]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('Q17: a failure that is not retried ends at once; a moved source asks for no person', async () => {
    const { lease } = await running();
    expect(await finishRun(db, lease, failed('SETUP_FAILED'))).toMatchObject({ status: 'FAILED' });
    const moved = await running();
    await finishRun(db, moved.lease, {
      kind: 'failed',
      reasonCode: 'SOURCE_MOVED',
      detail: null,
      retryAfterMs: null,
    });
    expect(await statusOf(db, moved.run.runId)).toBe('FAILED');
    expect(await rows(db, 'select run_id from headgate.dead_letter')).toEqual([
      { run_id: lease.fence.runId },
    ]);
  });

  test('a rate limit waits at least as long as the provider asked, and is charged to its own counter', async () => {
    const { lease } = await running();
    const answer = await finishRun(db, lease, failed('PROVIDER_RATE_LIMIT', 120_000));
    expect(answer.kind === 'finished' && (answer.retryInMs ?? 0) >= 120_000).toBe(true);
    expect(
      await rows(
        db,
        'select failures_rate_limit as limits, failures_application as application from headgate.run',
      ),
    ).toEqual([{ limits: 1, application: 0 }]);
  });

  test('Q20: a drained run is ready again at once and charged nothing', async () => {
    const { lease } = await running();
    const answer = await finishRun(db, lease, {
      kind: 'handed-back',
      reasonCode: 'WORKER_DRAINED',
      retryAfterMs: null,
    });
    expect(answer).toMatchObject({ status: 'QUEUED', retryInMs: 0 });
    const state = await rows(
      db,
      `select q.state, q.waits, a.status, r.failures_application + r.failures_infrastructure + r.failures_lease_lost as charged
         from headgate.queue_item q join headgate.run r on r.id = q.run_id join headgate.attempt a on a.run_id = r.id`,
    );
    expect(state).toEqual([{ state: 'ready', waits: null, status: 'released', charged: 0 }]);
  });

  test('a sealed result that needs a person waits for approval, without a lease', async () => {
    const { run, lease } = await running();
    expect(await finishRun(db, lease, needsApproval())).toMatchObject({
      status: 'WAITING_APPROVAL',
    });
    expect(await rows(db, 'select status from headgate.attempt')).toEqual([{ status: 'released' }]);
    expect(await receiptsOf(db, run.runId)).toEqual([]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('policy may deny from any stage; no work only before the agent ran', async () => {
    const denied = await running();
    expect(
      await finishRun(db, denied.lease, { kind: 'policy-denied', reasonCode: 'POLICY_DENIED', detail: 'x' }),
    ).toMatchObject({ status: 'POLICY_DENIED' });
    const run = await seedRun(db);
    const lease = await claimRun(db, run);
    const noWork = { kind: 'no-work', reasonCode: 'TARGET_CLOSED', detail: null } as const;
    expect(await finishRun(db, lease, noWork)).toMatchObject({ status: 'NO_WORK' });
    expect(await misplaced(db.service)).toEqual([]);
  });

  test.each([
    { kind: 'succeeded', reasonCode: 'SUCCEEDED' },
    failed('AGENT_FAILED'),
    { kind: 'handed-back', reasonCode: 'WORKER_DRAINED', retryAfterMs: null },
    needsApproval(),
    { kind: 'policy-denied', reasonCode: 'POLICY_DENIED', detail: null },
    { kind: 'cancelled' },
  ] satisfies AttemptOutcome[])(
    'Q5: after a cancel was asked for, $kind ends CANCELLED, with its evidence',
    async (outcome) => {
      const { run, lease } = await running();
      await cancelRun(db.service, run.runId, { actor: 'mona', reason: null });
      expect(await finishRun(db, lease, outcome, 2)).toMatchObject({ status: 'CANCELLED' });
      const state = await rows(
        db,
        `select r.status, r.reason_code, r.cancel_phase, r.cancel_actor, r.cost_usd, a.status as attempt, a.evidence, v.outcome
         from headgate.run r join headgate.attempt a on a.run_id = r.id join headgate.task_version v on v.run_id = r.id`,
      );
      expect(state).toEqual([
        {
          status: 'CANCELLED',
          reason_code: 'CANCELLED_BY_USER',
          cancel_phase: 'RUNNING',
          cancel_actor: 'mona',
          cost_usd: 2,
          attempt: 'cancelled',
          evidence: { test: true },
          outcome: 'CANCELLED',
        },
      ]);
      expect(await rows(db, 'select 1 from headgate.dead_letter')).toEqual([]);
      expect(await misplaced(db.service)).toEqual([]);
    },
  );

  test('queueOne: the end of a run releases the version that waits behind it; a retry does not', async () => {
    const { run, lease } = await running();
    await latchBehind(db, run);
    await finishRun(db, lease, failed('AGENT_FAILED'));
    expect(await isLatchReleased(db, run)).toBe(false);
    await rows(db, "update headgate.queue_item set state = 'ready', waits = null");
    await finishRun(db, await claimRun(db, run), { kind: 'succeeded', reasonCode: 'NO_CHANGE' });
    expect(await isLatchReleased(db, run)).toBe(true);
  });

  test('many runs in one batch: each by its own outcome, costs folded by tenant and day', async () => {
    const list = [await running(), await running(), await running()];
    const outcomes: AttemptOutcome[] = [
      { kind: 'succeeded', reasonCode: 'SUCCEEDED' },
      failed('AGENT_FAILED'),
      failed('SETUP_FAILED'),
    ];
    const answers = await finish(
      db.service,
      list.map(({ lease }, at) => ({
        fence: lease.fence,
        attemptId: lease.attemptId,
        result: outcomes[at] ?? { kind: 'cancelled' },
        costUsd: 1,
        evidence: null,
        actor: 'worker',
      })),
      () => 0.5,
    );
    expect(list.map(({ run }) => answers.get(run.runId))).toMatchObject([
      { status: 'SUCCEEDED' },
      { status: 'QUEUED' },
      { status: 'FAILED' },
    ]);
    expect(await rows(db, 'select settled_usd from headgate.tenant_day')).toEqual([{ settled_usd: 3 }]);
    expect(await finish(db.service, [], () => 0.5)).toEqual(new Map());
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('costs fall on the day of the zone of their tenant', async () => {
    await db.service.use((c) => c.query('select 1'));
    const { run, lease } = await running();
    await rows(db, "update headgate.tenant set timezone = 'Pacific/Kiritimati' where id = $1", [
      run.tenant.id,
    ]);
    await finishRun(db, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' }, 1);
    expect(
      await rows(
        db,
        'select day = (now() at time zone \'Pacific/Kiritimati\')::date as "isTheirs" from headgate.tenant_day',
      ),
    ).toEqual([{ isTheirs: true }]);
  });
});
