/** Q4: what happens when a lease runs out, and in every race around it. */
import { formatId, type RunId } from '@headgate/domain';
import { leases, placementViolations, reap } from '@headgate/store';
import { armFailPoint } from '@headgate/telemetry';
import {
  aPolicy,
  atEnd,
  claimRun,
  eventually,
  expireLease,
  finishRun,
  runInStatus,
  type SeededLease,
  type SeededRun,
  seedRun,
  seedWorker,
} from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { holding, sessionsWait } from './locks.js';
import { aWorld, type World } from './world.js';

interface RunRow {
  readonly status: string;
  readonly lost: number;
  readonly attempts: readonly string[];
}

const read = async (world: World, runId: RunId): Promise<RunRow | undefined> =>
  (
    await world.rows<RunRow>(
      `select r.status, r.failures_lease_lost as lost,
              (select array_agg(a.status order by a.number) from headgate.attempt a where a.run_id = r.id) as attempts
         from headgate.run r where r.id = $1`,
      [runId],
    )
  )[0];

const aReap = (world: World, limit = 200) =>
  reap(world.db.service, { limit, graceMs: 60_000, random: () => 0.5, actor: 'reconciler' });

async function expired(world: World): Promise<{ run: SeededRun; lease: SeededLease }> {
  const run = await seedRun(world.db, { tenant: world.tenant });
  const lease = await claimRun(world.db, run);
  await expireLease(world.db, run.runId);
  return { run, lease };
}

const healthy = async (world: World) =>
  expect(await world.db.service.use((c) => placementViolations(c))).toEqual([]);

describe('the reaper and a finish', () => {
  test('Q4, Q6: the reaper holds the row first: the finish waits, hears lost, and writes nothing', async () => {
    const world = await aWorld();
    const { run, lease } = await expired(world);
    const point = armFailPoint('reconciler.reap.locked', 'hold');
    atEnd(() => point.disarm());
    const reaping = world.reconciler().round('reap');
    await point.reached;
    const finishing = finishRun(world.db, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
    await sessionsWait(world.db);
    point.release();
    await reaping;
    expect(await finishing).toEqual({ kind: 'lost' });
    expect(await read(world, run.runId)).toEqual({ status: 'QUEUED', lost: 1, attempts: ['lost'] });
    await healthy(world);
  });

  test('Q4, Q6: the finish holds the row first: the reaper passes it over, and the work counts', async () => {
    const world = await aWorld();
    const { run, lease } = await expired(world);
    // The finish has locked the lease and waits for the run.
    const blocker = await holding(world.db, (c) =>
      c.query('select 1 from headgate.run where id = $1 for update', [run.runId]),
    );
    const finishing = finishRun(world.db, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
    await sessionsWait(world.db);
    expect(await aReap(world)).toMatchObject({ kind: 'reaped', runs: [] });
    await blocker.commit();
    expect(await finishing).toMatchObject({ kind: 'finished', status: 'SUCCEEDED' });
    await world.reconciler().round('reap');
    expect(await read(world, run.runId)).toEqual({ status: 'SUCCEEDED', lost: 0, attempts: ['succeeded'] });
    await healthy(world);
  });
});

describe('the reaper and a late heartbeat', () => {
  const beat = (world: World, { fence, workerId }: SeededLease) =>
    world.db.reserved.use((c) => leases.beat(c, [fence], workerId, 60_000));

  test('Q14: a beat that comes while the reaper holds the row is busy, and afterwards lost', async () => {
    const world = await aWorld();
    const { run, lease } = await expired(world);
    const point = armFailPoint('reconciler.reap.locked', 'hold');
    atEnd(() => point.disarm());
    const reaping = world.reconciler().round('reap');
    await point.reached;
    expect((await beat(world, lease)).leases.get(run.runId)?.answer).toBe('busy');
    point.release();
    await reaping;
    expect((await beat(world, lease)).leases.get(run.runId)?.answer).toBe('lost');
    expect(await read(world, run.runId)).toMatchObject({ status: 'QUEUED', lost: 1 });
  });

  test('Q14: a beat that comes first after the expiry renews nothing: the reaper’s word stands', async () => {
    const world = await aWorld();
    const { run, lease } = await expired(world);
    expect((await beat(world, lease)).leases.get(run.runId)?.answer).toBe('expired');
    await world.reconciler().round('reap');
    expect(await read(world, run.runId)).toMatchObject({ status: 'QUEUED', lost: 1, attempts: ['lost'] });
  });

  test('Q14: a renewal that was written in time and commits after the expiry keeps the lease', async () => {
    const world = await aWorld();
    const run = await seedRun(world.db, { tenant: world.tenant });
    const lease = await claimRun(world.db, run, { ttlMs: 3_000 });
    const renewing = await holding(world.db, (c) => leases.beat(c, [lease.fence], lease.workerId, 60_000));
    expect(renewing.result.leases.get(run.runId)?.answer).toBe('renewed');
    await eventually(
      async () =>
        (
          await world.rows(
            'select 1 from headgate.lease where run_id = $1 and expires_at <= clock_timestamp()',
            [run.runId],
          )
        ).length > 0,
      { what: 'everybody else sees the lease expired' },
    );
    expect(await aReap(world)).toMatchObject({ kind: 'reaped', runs: [] });
    await renewing.commit();
    expect(await aReap(world)).toMatchObject({ kind: 'reaped', runs: [] });
    expect(await read(world, run.runId)).toMatchObject({ status: 'CLAIMED', attempts: ['running'] });
  });
});

describe('what the reaper writes', () => {
  test('Q4: a lost attempt is told, keeps its lease in the record, and its run waits with back-off', async () => {
    const world = await aWorld();
    const { run, lease } = await expired(world);
    await world.reconciler().round('reap');
    const [row] = await world.rows<Record<string, unknown>>(
      `select a.reason_code, a.lease_id, a.fencing_token::text as token, a.finished_at is not null as ended,
              q.state, q.waits,
              extract(epoch from q.visible_at - clock_timestamp())::float8 as seconds
         from headgate.attempt a join headgate.queue_item q on q.run_id = a.run_id where a.run_id = $1`,
      [run.runId],
    );
    expect(row).toMatchObject({
      reason_code: 'WORKER_LOST',
      lease_id: lease.leaseId,
      token: lease.fence.fencingToken,
      ended: true,
      state: 'delayed',
      waits: 'backoff',
    });
    // The policy's first back-off is one second, within a fifth.
    expect(row?.['seconds']).toBeLessThanOrEqual(1.2);
    const told = await world.rows<{ to: string; reason: string; token: string }>(
      `select to_status as to, reason_code as reason, fencing_token::text as token from headgate.run_event
        where run_id = $1 and actor = 'reconciler' order by id`,
      [run.runId],
    );
    expect(told).toEqual(
      ['STALE_LEASE', 'FAILED_RETRYABLE', 'QUEUED'].map((to) => ({
        to,
        reason: 'WORKER_LOST',
        token: lease.fence.fencingToken,
      })),
    );
  });

  test('Q5: a cancelling run whose lease runs out ends CANCELLED, and is never tried again', async () => {
    const world = await aWorld();
    const asked = await runInStatus(world.db, 'CANCEL_REQUESTED', { tenant: world.tenant });
    const going = await runInStatus(world.db, 'CANCELLING', { tenant: world.tenant });
    for (const { runId } of [asked, going]) await expireLease(world.db, runId);
    await world.reconciler().round('reap');
    for (const { runId } of [asked, going]) {
      expect(await read(world, runId)).toEqual({ status: 'CANCELLED', lost: 0, attempts: ['lost'] });
    }
    expect(await world.rows('select 1 from headgate.queue_item')).toEqual([]);
    await healthy(world);
  });

  test('Q27: an attempt that reached its maximum run time ends WALL_CLOCK_EXCEEDED', async () => {
    const world = await aWorld();
    const { run } = await expired(world);
    await world.rows('update headgate.lease set renew_until = expires_at where run_id = $1', [run.runId]);
    await world.reconciler().round('reap');
    const [attempt] = await world.rows<{ reason: string }>(
      'select reason_code as reason from headgate.attempt where run_id = $1',
      [run.runId],
    );
    expect(attempt).toEqual({ reason: 'WALL_CLOCK_EXCEEDED' });
  });

  test('a lease of a run that waits is only removed, with its event', async () => {
    const world = await aWorld();
    const { run } = await expired(world);
    await world.breakRows("update headgate.run set status = 'WAITING_APPROVAL' where id = $1", [run.runId]);
    await world.reconciler().round('reap');
    expect(await read(world, run.runId)).toMatchObject({ status: 'WAITING_APPROVAL', attempts: ['lost'] });
    expect(await world.repairs()).toMatchObject([{ reasonCode: 'REPAIR_LEASE_OF_TERMINAL' }]);
    await healthy(world);
  });
});

describe('one bad row', () => {
  test('Q27: a run whose specification cannot be read holds up no other', async () => {
    const world = await aWorld();
    const bad = await expired(world);
    const good = [await expired(world), await expired(world)];
    await world.breakRows("update headgate.run set spec = '{}' where id = $1", [bad.run.runId]);
    await world.reconciler().round('reap');
    for (const { run } of good) expect(await read(world, run.runId)).toMatchObject({ status: 'QUEUED' });
    expect(await read(world, bad.run.runId)).toMatchObject({ status: 'CLAIMED', attempts: ['running'] });
    expect(await aReap(world)).toMatchObject({ runs: [], refused: [{ runId: bad.run.runId }] });
  });
});

describe('many at once', () => {
  async function fleet(world: World, size: number): Promise<readonly SeededLease[]> {
    const workerId = await seedWorker(world.db, { queueIds: [world.tenant.queueId], slots: size });
    const held: SeededLease[] = [];
    for (let n = 0; n < size; n += 1) {
      held.push(await claimRun(world.db, await seedRun(world.db, { tenant: world.tenant }), { workerId }));
    }
    return held;
  }
  const graces = (world: World) =>
    world.rows<{ runId: string }>(
      'select run_id as "runId" from headgate.run_event where reason_code = \'MASS_EXPIRY\'',
    );

  test('I16: more than half of the leases at once are given one grace, are not charged, and may beat again', async () => {
    const world = await aWorld();
    const held = await fleet(world, 22);
    const late = held.slice(0, 12);
    for (const { fence } of late) await expireLease(world.db, fence.runId);
    await Promise.all([world.reconciler().round('reap'), world.reconciler().round('reap')]);
    expect(new Set((await graces(world)).map((row) => row.runId))).toEqual(
      new Set(late.map(({ fence }) => fence.runId)),
    );
    expect(await graces(world)).toHaveLength(12);
    expect(await world.rows("select 1 from headgate.attempt where status <> 'running'")).toEqual([]);
    const [first] = late;
    if (first === undefined) throw new Error('nobody was late');
    const beat = await world.db.reserved.use((c) =>
      leases.beat(
        c,
        late.map(({ fence }) => fence),
        first.workerId,
        60_000,
      ),
    );
    expect([...beat.leases.values()].map(({ answer }) => answer)).toEqual(Array(12).fill('renewed'));

    // The second time it is meant: no lease is given time twice.
    for (const { fence } of late) await expireLease(world.db, fence.runId);
    await world.reconciler().round('reap');
    expect(await graces(world)).toHaveLength(12);
    expect(await world.rows("select 1 from headgate.attempt where status = 'lost'")).toHaveLength(12);
    await healthy(world);
  });

  test('I16: ten at once are taken, however few live', async () => {
    const world = await aWorld();
    const held = await fleet(world, 10);
    for (const { fence } of held) await expireLease(world.db, fence.runId);
    await world.reconciler().round('reap');
    expect(await graces(world)).toEqual([]);
    expect(await world.rows('select 1 from headgate.lease')).toEqual([]);
  });
});

describe('a reaper that dies', () => {
  test('Q4: its session is cut in the middle: nothing is written, and the next one takes the lease once', async () => {
    const world = await aWorld({ policy: aPolicy() });
    const { run } = await expired(world);
    const point = armFailPoint('reconciler.reap.locked', 'hold');
    atEnd(() => point.disarm());
    const reaping = world.reconciler().round('reap');
    reaping.catch(() => {});
    await point.reached;
    await world.db.reserved.use((c) =>
      c.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and state = 'idle in transaction'`,
      ),
    );
    point.disarm();
    await expect(reaping).rejects.toThrow();
    expect(await read(world, run.runId)).toEqual({ status: 'CLAIMED', lost: 0, attempts: ['running'] });
    await world.reconciler().round('reap');
    expect(await read(world, run.runId)).toEqual({ status: 'QUEUED', lost: 1, attempts: ['lost'] });
  });
});

test('Q32: the line about a lease that was taken names its run by every name that a person may search for', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = { write: (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const world = await aWorld({ log });
  const { run, lease } = await expired(world);
  await world.reconciler().round('reap');
  expect(lines.filter(({ msg }) => msg === 'an expired lease was taken')).toMatchObject([
    {
      tenant: 'default',
      workKey: run.workKey,
      runId: formatId('run', run.runId),
      attempt: 1,
      leaseId: formatId('lease', lease.leaseId),
      workerId: formatId('wkr', lease.workerId),
      status: 'QUEUED',
      reasonCode: 'WORKER_LOST',
    },
  ]);
});
