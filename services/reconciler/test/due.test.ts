/** What a scheduler should have done, done late when none is alive. */
import { Admission } from '@headgate/admission';
import { policies } from '@headgate/store';
import {
  aPolicy,
  aRoute,
  aSignal,
  aTenantPolicy,
  dispatchRun,
  finishRun,
  runInStatus,
  seedRun,
} from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { aWorld, type World } from './world.js';

const both = async (world: World, ...jobs: readonly string[]): Promise<void> => {
  await Promise.all([world.reconciler().round(...jobs), world.reconciler().round(...jobs)]);
};
const admissionOf = ({ context }: World): Admission =>
  new Admission({
    pool: context.database.service,
    dimensions: context.dimensions,
    ids: context.ids,
    logger: context.logger,
    policy: () => context.policy.current(),
  });
const queueOne = () => aPolicy({ routes: [aRoute({ onNewVersion: 'queueOne' })] });
const sha = (letter: string): string => letter.repeat(40);

describe('delayed items', () => {
  test('Q18: one that nobody promoted for a minute is promoted; one that is merely due is left to a scheduler', async () => {
    const world = await aWorld();
    const late = await runInStatus(world.db, 'WAITING_CAPACITY', { tenant: world.tenant });
    const due = await runInStatus(world.db, 'WAITING_CAPACITY', { tenant: world.tenant });
    for (const [runId, seconds] of [
      [late.runId, 61],
      [due.runId, 1],
    ]) {
      await world.rows(
        "update headgate.queue_item set visible_at = clock_timestamp() - $2 * interval '1 second' where run_id = $1",
        [runId, seconds],
      );
    }
    await both(world, 'overdue-items');
    const rows = await world.rows<Record<string, unknown>>(
      `select r.id, r.status, q.state from headgate.run r join headgate.queue_item q on q.run_id = r.id`,
    );
    expect(rows).toContainEqual({ id: late.runId, status: 'QUEUED', state: 'ready' });
    expect(rows).toContainEqual({ id: due.runId, status: 'WAITING_CAPACITY', state: 'delayed' });
    expect(await world.repairs()).toMatchObject([{ reasonCode: 'REPAIR_DUE_PROMOTED', runId: late.runId }]);
  });
});

describe('deferred signals', () => {
  test('I9: one that nobody decided for a minute is decided once, with a receipt that names the first', async () => {
    const world = await aWorld();
    const retryAfter = new Date(Date.now() - 61_000);
    const verdict = { outcome: 'defer', reasonCode: 'DEBOUNCED', detail: null, retryAfter } as const;
    const first = await admissionOf(world).submit({
      signal: aSignal(),
      tenant: 'default',
      payload: null,
      verdict,
    });
    expect(first).toMatchObject({ outcome: 'defer', runId: null });
    await both(world, 'overdue-signals');
    const receipts = await world.rows<Record<string, unknown>>(
      'select reason_code as reason, parent_receipt_id as parent from headgate.receipt order by id',
    );
    expect(receipts).toEqual([
      { reason: 'DEBOUNCED', parent: null },
      { reason: 'ADMITTED', parent: first.receiptId },
    ]);
    expect(await world.rows('select 1 from headgate.run')).toHaveLength(1);
    expect(await world.repairs()).toMatchObject([
      { reasonCode: 'REPAIR_DUE_PROMOTED', data: { receiptId: first.receiptId } },
    ]);
  });
});

describe('the latch of queueOne', () => {
  /** One run lives, another version waits behind it. */
  async function latched(world: World) {
    const admission = admissionOf(world);
    const signal = aSignal({ inputVersion: sha('a'), sourceAt: new Date('2026-01-01T00:00:00Z') });
    const next = aSignal({ inputVersion: sha('b'), sourceAt: new Date('2026-01-01T00:01:00Z') });
    const body = Buffer.from(JSON.stringify(next.data));
    const running = await admission.submit({ signal, tenant: 'default', payload: null });
    const waiting = await admission.submit({
      signal: next,
      tenant: 'default',
      payload: { mediaType: 'application/json', body },
    });
    expect(waiting).toMatchObject({ reasonCode: 'QUEUED_NEXT' });
    if (running.runId === null || running.taskId === null) throw new Error('nothing was admitted');
    return { ...running, runId: running.runId, taskId: running.taskId, waiting };
  }
  const end = (world: World, runId: string) =>
    world.breakRows(
      `with gone as (delete from headgate.queue_item where run_id = '${runId}')
       update headgate.run set status = 'NO_WORK' where id = '${runId}'`,
    );
  const close = (world: World, runId: string) =>
    world.rows("update headgate.task_version set outcome = 'NO_WORK' where run_id = $1", [runId]);
  const latchOf = async (world: World) =>
    (await world.rows<{ next: string | null }>('select next_receipt_id as next from headgate.task'))[0]?.next;

  test('one that waits behind a run that is gone is released, and its version runs', async () => {
    const world = await aWorld({ policy: queueOne() });
    const { runId, taskId } = await latched(world);
    await both(world, 'orphan-latches');
    expect(await world.repairs()).toEqual([]);
    await end(world, runId);
    await close(world, runId);
    await both(world, 'orphan-latches');
    expect(await world.repairs({ taskId })).toMatchObject([{ reasonCode: 'REPAIR_LATCH_RELEASED' }]);
    await admissionOf(world).promoteDue(10);
    const runs = await world.rows<{ version: string }>(
      'select input_version as version from headgate.run order by id',
    );
    expect(runs.map((run) => run.version)).toEqual([sha('a'), sha('b')]);
    expect(await latchOf(world)).toBeNull();
  });

  test('one whose waiting signal was lost is put together again from receipt and payload, and runs in its turn', async () => {
    const world = await aWorld({
      policy: aPolicy({
        routes: [
          aRoute({ onNewVersion: 'queueOne', when: { source: 'event.check_run.conclusion == "failure"' } }),
        ],
      }),
    });
    const { runId, taskId, waiting } = await latched(world);
    await world.rows('delete from headgate.deferred_signal');
    await both(world, 'broken-latches');
    expect(await world.repairs({ taskId })).toMatchObject([
      { type: 'repair.latch_rebuilt', data: { receiptId: waiting.receiptId, inputVersion: sha('b') } },
    ]);
    await admissionOf(world).promoteDue(10);
    expect(await world.rows('select 1 from headgate.run')).toHaveLength(1);
    await end(world, runId);
    await close(world, runId);
    await both(world, 'orphan-latches');
    await admissionOf(world).promoteDue(10);
    const [run] = await world.rows<Record<string, unknown>>(
      `select r.input_version, d.parent_receipt_id, r.spec -> 'target' ->> 'id' as target
         from headgate.run r join headgate.receipt d on d.id = r.receipt_id where r.id <> $1`,
      [runId],
    );
    expect(run).toEqual({ input_version: sha('b'), parent_receipt_id: waiting.receiptId, target: '7' });
  });

  test('one whose signal was refused in its turn is cleared: it would keep older versions out for ever', async () => {
    const world = await aWorld({ policy: queueOne() });
    const { runId, taskId } = await latched(world);
    await end(world, runId);
    await close(world, runId);
    await both(world, 'orphan-latches');
    const tenants = [aTenantPolicy({ suspended: true })];
    await policies.activate(world.db.service, { ...queueOne(), tenants, digest: 'suspended' }, 'test');
    await world.context.policy.refresh();
    await admissionOf(world).promoteDue(10);
    expect(await latchOf(world)).not.toBeNull();
    await both(world, 'broken-latches');
    expect(await latchOf(world)).toBeNull();
    expect(await world.rows('select 1 from headgate.deferred_signal')).toEqual([]);
    expect((await world.repairs({ taskId })).at(-1)).toMatchObject({
      type: 'repair.latch_cleared',
      data: { wasDecided: true },
    });
  });

  test('one whose receipt is gone is cleared', async () => {
    const world = await aWorld({ policy: queueOne() });
    const { taskId } = await latched(world);
    await world.rows('delete from headgate.deferred_signal');
    await world.rows('update headgate.task set next_receipt_id = gen_random_uuid()');
    await both(world, 'broken-latches');
    expect(await world.repairs({ taskId })).toMatchObject([{ type: 'repair.latch_cleared' }]);
    expect(await latchOf(world)).toBeNull();
  });
});

test('healthy runs and due times are left alone by every job', async () => {
  const world = await aWorld();
  const { db, tenant } = world;
  const finished = await runInStatus(db, 'RUNNING', { tenant });
  if (finished.lease === null) throw new Error('no lease');
  await finishRun(db, finished.lease, {
    kind: 'failed',
    reasonCode: 'AGENT_FAILED',
    detail: null,
    retryAfterMs: null,
  });
  await dispatchRun(db, await seedRun(db, { tenant }));
  for (const status of ['QUEUED', 'ADMITTED', 'WAITING_APPROVAL', 'WAITING_CAPACITY', 'FINALIZING'] as const)
    await runInStatus(db, status, { tenant });
  const before = await world.rows('select id, status, status_at from headgate.run order by id');
  await both(world);
  expect(await world.repairs()).toEqual([]);
  expect(await world.rows('select id, status, status_at from headgate.run order by id')).toEqual(before);
});
