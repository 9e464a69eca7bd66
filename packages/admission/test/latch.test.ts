import { eventually, withClient } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { claimRuns, dispatchedItems, finishRun } from '../../../test/world/claims.js';
import { CHECKS, policyFrom, withRoute } from '../../../test/world/policy.js';
import { sha, submissionOf } from '../../../test/world/signals.js';
import {
  type AdmissionOf,
  aDispatcher,
  anAdmission,
  aWorker,
  aWorld,
  type World,
} from '../../../test/world/world.js';

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
const version = (name: string, minute: number | null) =>
  submissionOf({ inputVersion: sha(name), sourceAt: minute === null ? null : at(minute) });

async function queueOneWorld(): Promise<{ world: World } & AdmissionOf> {
  const world = await aWorld(withRoute(await policyFrom(CHECKS), { onNewVersion: 'queueOne' }));
  return { world, ...anAdmission(world) };
}

/** Dispatches and claims what is ready. */
async function running(world: World) {
  const worker = await aWorker(world, 4);
  const dispatcher = aDispatcher(world);
  await dispatcher.scan();
  await dispatcher.turn({ wait: true });
  const [run] = await claimRuns(world, worker, await dispatchedItems(world));
  if (run === undefined) throw new Error('nothing was claimed');
  return run;
}

const isWaiting = async (world: World): Promise<boolean> => {
  const waiting = await world.sql(
    `select 1 from pg_locks l join pg_stat_activity a using (pid)
      where not l.granted and a.datname = current_database()`,
  );
  return waiting.length > 0;
};

const latchOf = async (world: World) =>
  (
    await world.sql<{ next_version: string | null; waiting: string }>(
      'select next_version, (select count(*) from headgate.deferred_signal d where d.task_id = t.id) as waiting from headgate.task t',
    )
  )[0];

describe('queueOne', () => {
  it('I8: the newest version waits behind the live run and runs when it has ended', async () => {
    const { world, admission } = await queueOneWorld();
    await admission.submit(version('a', 1));
    const run = await running(world);

    const second = await admission.submit(version('b', 2));
    const third = await admission.submit(version('c', 3));
    const late = await admission.submit(version('d', 0));
    expect([second, third, late].map((answer) => answer.reasonCode)).toEqual([
      'QUEUED_NEXT',
      'QUEUED_NEXT',
      'SUPERSEDED',
    ]);
    expect(await latchOf(world)).toEqual({ next_version: sha('c'), waiting: '1' });
    expect(await admission.promoteDue(10)).toBe(0);

    await finishRun(world, run);
    expect(await admission.promoteDue(10)).toBe(1);

    expect(await latchOf(world)).toEqual({ next_version: null, waiting: '0' });
    const [next] = await world.sql<Record<string, unknown>>(
      "select input_version, status from headgate.run where status = 'QUEUED'",
    );
    expect(next).toEqual({ input_version: sha('c'), status: 'QUEUED' });
    const [receipt] = await world.sql<Record<string, unknown>>(
      'select reason_code, parent_receipt_id from headgate.receipt where parent_receipt_id is not null and kind = $1',
      ['decision'],
    );
    expect(receipt).toEqual({ reason_code: 'ADMITTED', parent_receipt_id: third.receiptId });
  });

  it('I8: a latch that meets a new live run when it is promoted waits again, and is not lost', async () => {
    const { world, admission } = await queueOneWorld();
    await admission.submit(version('a', null));
    const run = await running(world);
    await admission.submit(version('b', null));
    await finishRun(world, run);
    // Before the promotion another version, whose place beside the latch nobody knows, is let in.
    await admission.submit(version('c', null));
    const second = await running(world);

    expect(await admission.promoteDue(10)).toBe(1);
    expect(await latchOf(world)).toEqual({ next_version: sha('b'), waiting: '1' });

    await finishRun(world, second);
    expect(await admission.promoteDue(10)).toBe(1);
    const [next] = await world.sql<{ input_version: string }>(
      "select input_version from headgate.run where status = 'QUEUED'",
    );
    expect(next?.input_version).toBe(sha('b'));
  });

  it('I8: a latch that a newer version overtook falls with its promotion', async () => {
    const { world, admission } = await queueOneWorld();
    await admission.submit(version('a', 1));
    const run = await running(world);
    await admission.submit(version('b', 2));
    await finishRun(world, run);
    await admission.submit(version('c', 3));

    await admission.promoteDue(10);

    expect(await latchOf(world)).toEqual({ next_version: null, waiting: '0' });
    const codes = await world.sql<{ reason_code: string }>(
      "select reason_code from headgate.receipt where kind = 'decision' order by id",
    );
    expect(codes.map((row) => row.reason_code)).toEqual([
      'ADMITTED',
      'QUEUED_NEXT',
      'ADMITTED',
      'SUPERSEDED',
    ]);
  });

  it('I8: a latch whose route is gone falls with its promotion', async () => {
    const { world, admission } = await queueOneWorld();
    await admission.submit(version('a', 1));
    const run = await running(world);
    await admission.submit(version('b', 2));
    await finishRun(world, run);
    const gone = await world.activate({ ...world.active.policy, digest: 'without routes', routes: [] });

    await anAdmission(world, () => gone).admission.promoteDue(10);

    expect(await latchOf(world)).toEqual({ next_version: null, waiting: '0' });
  });

  it('I8: a latch set while the run before it ends is not missed by that end', async () => {
    const { world, admission } = await queueOneWorld();
    await admission.submit(version('a', 1));
    const run = await running(world);
    const answer = await withClient(world.urls.ownerUrl, async (client) => {
      // What a finish does, held just before its COMMIT: it found no latch to release.
      await client.query('begin');
      await client.query("update headgate.run set status = 'SUCCEEDED' where id = $1", [run.runId]);
      await client.query("update headgate.task_version set outcome = 'SUCCEEDED' where run_id = $1", [
        run.runId,
      ]);
      const latched = admission.submit(version('b', 2));
      await eventually(() => isWaiting(world), { what: 'the admission waits for the end of the run' });
      await client.query('commit');
      return latched;
    });
    expect(answer.reasonCode).toBe('QUEUED_NEXT');
    await admission.promoteDue(10);
    const [next] = await world.sql<{ input_version: string }>(
      "select input_version from headgate.run where status = 'QUEUED'",
    );
    expect(next?.input_version).toBe(sha('b'));
    expect(await latchOf(world)).toEqual({ next_version: null, waiting: '0' });
  });

  it('I18: two promoters of one latch make one run', async () => {
    const { world, admission } = await queueOneWorld();
    await admission.submit(version('a', 1));
    const run = await running(world);
    await admission.submit(version('b', 2));
    await finishRun(world, run);
    const other = anAdmission(world).admission;

    await Promise.all([admission.promoteDue(10), other.promoteDue(10)]);

    expect(await world.sql("select 1 from headgate.run where status = 'QUEUED'")).toHaveLength(1);
    expect(
      await world.sql(
        "select 1 from headgate.receipt where parent_receipt_id is not null and kind = 'decision'",
      ),
    ).toHaveLength(1);
  });
});

describe('a full queue', () => {
  it("Q28: defers what comes above the tenant's bound, and lets it in when there is room", async () => {
    const policy = await policyFrom(`${CHECKS}
tenants: { default: { limits: { maxQueued: 1 } } }`);
    const world = await aWorld(policy);
    const { admission } = anAdmission(world);
    await admission.submit(version('a', 1));
    const deferred = await admission.submit(
      submissionOf(
        { target: { kind: 'pull_request', id: '8', ref: 'x', aspect: 'unit' } },
        { headStartSeconds: 60 },
      ),
    );
    expect(deferred).toMatchObject({ outcome: 'defer', reasonCode: 'QUEUE_FULL', runId: null });
    expect(deferred.retryAfter).toBeInstanceOf(Date);
    await world.sql('update headgate.deferred_signal set due_at = now()');
    await world.sql('delete from headgate.queue_item');

    expect(await admission.promoteDue(10)).toBe(1);

    const [run] = await world.sql<{ priority: number }>(
      'select priority from headgate.run order by id desc limit 1',
    );
    expect(run?.priority).toBe(60);
  });
});
