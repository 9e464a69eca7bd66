/** Q27: each thing that must not be is broken by hand, and put right once by two reconcilers at once. */
import { placementViolations } from '@headgate/store';
import { claimRun, expireLease, runInStatus, seedRun } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { aWorld, type World } from './world.js';

const twice = async (world: World, ...jobs: readonly string[]): Promise<void> => {
  const [first, second] = [world.reconciler(), world.reconciler()];
  await Promise.all([first.round(...jobs), second.round(...jobs)]);
  // A row that the other one held is looked at again in the next round.
  await Promise.all([first.round(...jobs), second.round(...jobs)]);
};
const violations = (world: World) => world.db.service.use((c) => placementViolations(c));
const statusOf = async (world: World, runId: string): Promise<string | undefined> =>
  (await world.rows<{ status: string }>('select status from headgate.run where id = $1', [runId]))[0]?.status;

describe('a run that nothing will dispatch', () => {
  test('Q27: a QUEUED run without an item gets one with every dimension, its rank, and a number above the lost one', async () => {
    const world = await aWorld();
    const run = await seedRun(world.db, {
      tenant: world.tenant,
      headStartSeconds: 3_600,
      concurrency: { key: 'a:b', limit: 1 },
      timeToLiveMs: 86_400_000,
    });
    const read = () =>
      world.rows<Record<string, unknown>>(
        `select state, task_id, exclusive_task, repository_id, task_type_id, risk, queue_id, agent_id,
                concurrency_limit, tokens_per_minute, reserved_usd, dispatch_no,
                encode(concurrency_key, 'hex') as key,
                abs(extract(epoch from rank_at - (select created_at from headgate.run r where r.id = run_id)) + 3600)::float8 as off
           from headgate.queue_item where run_id = $1`,
        [run.runId],
      );
    const [before] = await read();
    await world.rows('delete from headgate.queue_item where run_id = $1', [run.runId]);
    await twice(world, 'stranded-runs');
    const [after] = await read();
    const { key: _was, off: _off, dispatch_no: _no, ...same } = before ?? {};
    expect(after).toMatchObject(same);
    expect(after?.['off']).toBeLessThan(0.01);
    expect(after?.['dispatch_no']).toBeGreaterThanOrEqual(1_000);
    expect(await world.repairs()).toMatchObject([
      { reasonCode: 'REPAIR_ENQUEUED', runId: run.runId, data: { status: 'QUEUED', item: null } },
    ]);
    expect(await violations(world)).toEqual([]);
    await claimRun(world.db, run);
  });

  test('Q27: an ADMITTED run without an item is enqueued after 60 s, and not before', async () => {
    const world = await aWorld();
    const run = await seedRun(world.db, { tenant: world.tenant, status: 'ADMITTED' });
    await twice(world, 'stranded-runs');
    expect(await statusOf(world, run.runId)).toBe('ADMITTED');
    await world.breakRows(
      "update headgate.run set status_at = clock_timestamp() - interval '61 seconds' where id = $1",
      [run.runId],
    );
    await twice(world, 'stranded-runs');
    expect(await statusOf(world, run.runId)).toBe('QUEUED');
    expect(await world.repairs()).toMatchObject([{ reasonCode: 'REPAIR_ENQUEUED', runId: run.runId }]);
    await claimRun(world.db, run);
  });

  test('Q27: a run that waits for capacity is taken up when its item is gone, or went on without it', async () => {
    const world = await aWorld();
    const gone = await runInStatus(world.db, 'WAITING_CAPACITY', { tenant: world.tenant });
    const ahead = await runInStatus(world.db, 'WAITING_CAPACITY', { tenant: world.tenant });
    await world.rows('delete from headgate.queue_item where run_id = $1', [gone.runId]);
    await world.rows("update headgate.queue_item set state = 'ready', waits = null where run_id = $1", [
      ahead.runId,
    ]);
    await twice(world, 'stranded-runs');
    expect([await statusOf(world, gone.runId), await statusOf(world, ahead.runId)]).toEqual([
      'QUEUED',
      'QUEUED',
    ]);
    expect(await world.repairs()).toHaveLength(2);
    expect(await violations(world)).toEqual([]);
  });
});

describe('an item where there is no place for one', () => {
  test('Q27: the item of an ended run is removed', async () => {
    const world = await aWorld();
    const other = await seedRun(world.db, { tenant: world.tenant });
    const ended = await runInStatus(world.db, 'SUCCEEDED', { tenant: world.tenant });
    await world.rows(
      `insert into headgate.queue_item (run_id, tenant_id, state, visible_at, rank_at, enqueued_at, task_id,
                                        exclusive_task, task_type_id, risk, queue_id, agent_id)
       select $2, tenant_id, 'ready', visible_at, rank_at, enqueued_at, $3, exclusive_task, task_type_id, risk,
              queue_id, agent_id
         from headgate.queue_item where run_id = $1`,
      [other.runId, ended.runId, ended.taskId],
    );
    await twice(world, 'misplaced-items');
    expect(await world.repairs()).toMatchObject([
      { reasonCode: 'REPAIR_ITEM_OF_TERMINAL', runId: ended.runId, data: { status: 'SUCCEEDED' } },
    ]);
    expect(await violations(world)).toEqual([]);
  });

  test('an item beside a lease, of a run that waits for a person, or without a run is removed', async () => {
    const world = await aWorld();
    const model = await seedRun(world.db, { tenant: world.tenant });
    const held = await runInStatus(world.db, 'RUNNING', { tenant: world.tenant });
    const person = await runInStatus(world.db, 'WAITING_APPROVAL', { tenant: world.tenant });
    const nobody = '0190a000-0000-7000-8000-000000000001';
    for (const runId of [held.runId, person.runId, nobody]) {
      await world.rows(
        `insert into headgate.queue_item (run_id, tenant_id, state, visible_at, rank_at, enqueued_at, task_id,
                                          exclusive_task, task_type_id, risk, queue_id, agent_id)
         select $2, tenant_id, 'ready', visible_at, rank_at, enqueued_at, task_id, exclusive_task, task_type_id, risk,
                queue_id, agent_id
           from headgate.queue_item where run_id = $1`,
        [model.runId, runId],
      );
    }
    expect(await violations(world)).toHaveLength(3);
    await twice(world, 'misplaced-items');
    const told = await world.repairs();
    expect(told.map((repair) => repair.reasonCode)).toEqual(Array(3).fill('REPAIR_ITEM_MISPLACED'));
    expect(new Set(told.map((repair) => repair.runId))).toEqual(new Set([held.runId, person.runId, nobody]));
    expect(await violations(world)).toEqual([]);
  });
});

describe('a run that nobody holds', () => {
  test('Q27: RUNNING without a lease is a lost worker: the attempt ends, the run is tried again and charged once', async () => {
    const world = await aWorld();
    const run = await runInStatus(world.db, 'RUNNING', { tenant: world.tenant });
    await world.rows('delete from headgate.lease where run_id = $1', [run.runId]);
    await twice(world, 'unleased-runs');
    const [row] = await world.rows<Record<string, unknown>>(
      `select r.status, r.reason_code, r.failures_lease_lost, a.status as attempt, a.reason_code as attempt_reason,
              q.state, q.waits
         from headgate.run r join headgate.attempt a on a.run_id = r.id
         join headgate.queue_item q on q.run_id = r.id where r.id = $1`,
      [run.runId],
    );
    expect(row).toEqual({
      status: 'QUEUED',
      reason_code: 'WORKER_LOST',
      failures_lease_lost: 1,
      attempt: 'lost',
      attempt_reason: 'WORKER_LOST',
      state: 'delayed',
      waits: 'backoff',
    });
    const steps = await world.rows<{ to: string }>(
      "select to_status as to from headgate.run_event where run_id = $1 and actor = 'reconciler' and to_status is not null order by id",
      [run.runId],
    );
    expect(steps.map((step) => step.to)).toEqual(['STALE_LEASE', 'FAILED_RETRYABLE', 'QUEUED']);
    expect(await world.repairs()).toMatchObject([
      { reasonCode: 'REPAIR_RUN_WITHOUT_LEASE', data: { status: 'RUNNING', to: 'QUEUED' } },
    ]);
    expect(await violations(world)).toEqual([]);
  });

  test('Q27: with its last lease lost it fails, with a dead letter, a tombstone and a closing receipt', async () => {
    const world = await aWorld();
    const run = await runInStatus(world.db, 'VERIFYING', { tenant: world.tenant });
    await world.rows('update headgate.run set failures_lease_lost = 2 where id = $1', [run.runId]);
    await world.rows('delete from headgate.lease where run_id = $1', [run.runId]);
    await twice(world, 'unleased-runs');
    const [row] = await world.rows<Record<string, unknown>>(
      `select r.status, r.reason_code, v.outcome,
              (select count(*)::int from headgate.dead_letter d where d.run_id = r.id) as letters,
              (select count(*)::int from headgate.receipt c where c.run_id = r.id and c.kind = 'closing') as closing
         from headgate.run r join headgate.task_version v on v.run_id = r.id where r.id = $1`,
      [run.runId],
    );
    expect(row).toEqual({
      status: 'FAILED',
      reason_code: 'ATTEMPTS_EXHAUSTED',
      outcome: 'FAILED',
      letters: 1,
      closing: 1,
    });
    expect(await violations(world)).toEqual([]);
  });

  test('Q5, Q27: a cancelling run without a lease ends CANCELLED and is never tried again', async () => {
    const world = await aWorld();
    const asked = await runInStatus(world.db, 'CANCEL_REQUESTED', { tenant: world.tenant });
    const going = await runInStatus(world.db, 'CANCELLING', { tenant: world.tenant });
    await world.rows('delete from headgate.lease', []);
    await twice(world, 'unleased-runs');
    expect([await statusOf(world, asked.runId), await statusOf(world, going.runId)]).toEqual([
      'CANCELLED',
      'CANCELLED',
    ]);
    expect(await world.repairs()).toHaveLength(2);
    expect(await violations(world)).toEqual([]);
  });

  test('a run at rest where it only passes through is moved on: retried, or failed when nothing is left', async () => {
    const world = await aWorld();
    const stale = await runInStatus(world.db, 'RUNNING', { tenant: world.tenant });
    const spent = await runInStatus(world.db, 'RUNNING', { tenant: world.tenant });
    const failed = await runInStatus(world.db, 'RUNNING', { tenant: world.tenant });
    await world.rows('update headgate.run set failures_lease_lost = 2 where id = $1', [spent.runId]);
    await world.rows("update headgate.run set status = 'STALE_LEASE' where id = any ($1)", [
      [stale.runId, spent.runId],
    ]);
    await world.rows("update headgate.run set status = 'FAILED_RETRYABLE' where id = $1", [failed.runId]);
    await world.rows('delete from headgate.lease', []);
    await twice(world, 'passing-runs');
    expect(await Promise.all([stale, spent, failed].map((run) => statusOf(world, run.runId)))).toEqual([
      'QUEUED',
      'FAILED',
      'QUEUED',
    ]);
    expect((await world.repairs()).map((repair) => repair.reasonCode).sort()).toEqual([
      'REPAIR_ENQUEUED',
      'REPAIR_ENQUEUED',
      'REPAIR_RUN_WITHOUT_LEASE',
    ]);
    expect(await violations(world)).toEqual([]);
  });
});

describe('what was left over', () => {
  test('Q27: the lease of an ended run is removed, and its attempt ends', async () => {
    const world = await aWorld();
    const run = await runInStatus(world.db, 'RUNNING', { tenant: world.tenant });
    await world.breakRows("update headgate.run set status = 'SUCCEEDED' where id = $1", [run.runId]);
    await twice(world, 'leases-of-ended');
    expect(await world.repairs()).toMatchObject([
      { reasonCode: 'REPAIR_LEASE_OF_TERMINAL', runId: run.runId, data: { status: 'SUCCEEDED' } },
    ]);
    const attempts = await world.rows<{ status: string }>('select status from headgate.attempt');
    expect(attempts).toEqual([{ status: 'lost' }]);
    expect(await violations(world)).toEqual([]);
  });

  test('Q27: an attempt that runs on without a lease ends lost; one whose lease stands does not', async () => {
    const world = await aWorld();
    const gone = await runInStatus(world.db, 'SUCCEEDED', { tenant: world.tenant });
    const running = await runInStatus(world.db, 'RUNNING', { tenant: world.tenant });
    await world.rows("update headgate.attempt set status = 'running', finished_at = null where run_id = $1", [
      gone.runId,
    ]);
    await twice(world, 'lost-attempts');
    const attempts = await world.rows<{ runId: string; status: string; reason: string | null }>(
      'select run_id as "runId", status, reason_code as reason from headgate.attempt order by run_id',
    );
    expect(attempts).toEqual([
      { runId: gone.runId, status: 'lost', reason: 'REPAIR_OVERLONG_ATTEMPT' },
      { runId: running.runId, status: 'running', reason: null },
    ]);
    expect(await world.repairs()).toHaveLength(1);
  });

  test('Q27: a worker that has not beaten for two TTLs is DEAD, told once; one that beats is not', async () => {
    const world = await aWorld();
    const still = await seedRun(world.db, { tenant: world.tenant });
    const held = await claimRun(world.db, still);
    const silent = await claimRun(world.db, await seedRun(world.db, { tenant: world.tenant }));
    await world.rows(
      "update headgate.worker set heartbeat_at = clock_timestamp() - interval '121 seconds' where id = $1",
      [silent.workerId],
    );
    await twice(world, 'dead-workers');
    const workers = await world.rows<{ id: string; state: string }>(
      "select id, state from headgate.worker where state in ('READY', 'DEAD') order by state",
    );
    expect(workers).toEqual([
      { id: silent.workerId, state: 'DEAD' },
      { id: held.workerId, state: 'READY' },
    ]);
    expect(await world.repairs()).toMatchObject([
      { reasonCode: 'REPAIR_WORKER_DEAD', data: { workerId: silent.workerId } },
    ]);
  });

  test('Q27: a claimed run whose lease ran out is the reaper’s, and no repair', async () => {
    const world = await aWorld();
    const run = await runInStatus(world.db, 'RUNNING', { tenant: world.tenant });
    await expireLease(world.db, run.runId);
    await twice(world);
    expect(await statusOf(world, run.runId)).toBe('QUEUED');
    expect(await world.repairs()).toEqual([]);
    expect(await violations(world)).toEqual([]);
  });
});
