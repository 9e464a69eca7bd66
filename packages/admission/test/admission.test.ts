import type { Admission } from '@headgate/admission';
import { Connection } from '@headgate/store';
import { describe, expect, it, vi } from 'vitest';
import { CHECKS, policyFrom, withRoute } from '../../../test/world/policy.js';
import { anotherTarget, aSignal, sha, submissionOf } from '../../../test/world/signals.js';
import { anAdmission, aWorld } from '../../../test/world/world.js';

const receiptsOf = async (world: Awaited<ReturnType<typeof aWorld>>) =>
  world.sql<{ id: string; reason_code: string; outcome: string; run_id: string | null }>(
    'select id, reason_code, outcome, run_id from headgate.receipt order by id',
  );

describe('one signal', () => {
  it('I9: is admitted with a receipt, a run, its first events and a ready queue item, in one commit', async () => {
    const world = await aWorld();
    const { admission, admitted } = anAdmission(world);

    const answer = await admission.submit(submissionOf());

    expect(answer).toMatchObject({ outcome: 'accept', reasonCode: 'ADMITTED', existing: false });
    expect(admitted).toEqual([{ runId: answer.runId, tenantId: world.tenantId, queue: 'default' }]);
    const [run] = await world.sql<Record<string, unknown>>('select * from headgate.run');
    expect(run).toMatchObject({ id: answer.runId, status: 'QUEUED', receipt_id: answer.receiptId });
    const [item] = await world.sql<Record<string, unknown>>('select * from headgate.queue_item');
    expect(item).toMatchObject({
      run_id: answer.runId,
      state: 'ready',
      dispatch_no: 0,
      exclusive_task: true,
    });
    const events = await world.sql<{ type: string }>('select type from headgate.run_event order by id');
    expect(events.map((event) => event.type)).toEqual(['run.admitted', 'run.queued']);
    const [receipt] = await world.sql<Record<string, unknown>>('select * from headgate.receipt');
    expect(receipt).toMatchObject({
      id: answer.receiptId,
      kind: 'decision',
      outcome: 'accept',
      work_key: '42/pr/7/check/unit',
      input_version: sha('a'),
      route: 'fix',
      run_id: answer.runId,
      policy_version: world.active.version,
    });
  });

  it('I5: keeps its payload beside the receipt', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const body = Buffer.from(JSON.stringify({ text: 'x'.repeat(2_000) }));

    const answer = await admission.submit(
      submissionOf({}, { payload: { mediaType: 'application/json', body } }),
    );

    const [row] = await world.sql<{ receipt_id: string; encoding: string; data: Buffer }>(
      'select receipt_id, encoding, data from headgate.payload',
    );
    expect(row).toMatchObject({ receipt_id: answer.receiptId, encoding: 'deflate' });
    expect(row?.data.length).toBeLessThan(200);
  });

  it('I8: an event that no route wants gets a receipt that says why, and no run', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);

    const answer = await admission.submit(submissionOf({ data: { check_run: { conclusion: 'success' } } }));

    expect(answer).toMatchObject({ outcome: 'reject', reasonCode: 'NOT_ELIGIBLE', runId: null });
    expect(await world.sql('select 1 from headgate.run')).toEqual([]);
    expect(await world.sql('select 1 from headgate.task')).toEqual([]);
  });

  it('I11: a configured repository is counted once, whoever names it', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    await admission.submit(submissionOf({}));
    await admission.submit(
      submissionOf({
        source: 'api',
        eventId: 'a call',
        trigger: 'manual',
        type: 'manual',
        via: 'api',
        repository: { externalId: 'git:somewhere', fullName: 'Acme/API', defaultBranch: null },
        target: { kind: 'pull_request', id: '7', ref: null, aspect: null },
        data: { route: 'fix' },
      }),
    );
    const items = await world.sql<{ repository_id: number; concurrency_key: Buffer }>(
      'select repository_id, concurrency_key from headgate.queue_item',
    );
    expect(items).toHaveLength(2);
    expect(items[0]).toEqual(items[1]);
    expect(await world.sql('select 1 from headgate.repository')).toHaveLength(1);
  });

  it('I11: a concurrency key that cannot be made refuses the work instead of protecting nothing', async () => {
    const policy = withRoute(await policyFrom(CHECKS), {
      concurrency: { key: '{{ event.deployment.environment }}', limit: 1 },
    });
    const world = await aWorld(policy);
    const { admission } = anAdmission(world);
    expect(await admission.submit(submissionOf())).toMatchObject({
      outcome: 'reject',
      reasonCode: 'TASK_CONTRACT_INVALID',
    });
  });
});

describe('the same delivery', () => {
  it("I4: sent again later, gets its own receipt that names the first one's run", async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const signal = aSignal();

    const first = await admission.submit({ signal, tenant: 'default', payload: null });
    const second = await admission.submit({ signal, tenant: 'default', payload: null });

    expect(second).toMatchObject({
      outcome: 'reject',
      reasonCode: 'DUPLICATE_DELIVERY',
      existing: true,
      runId: first.runId,
    });
    const [receipt] = await world.sql<{ parent_receipt_id: string }>(
      'select parent_receipt_id from headgate.receipt where id = $1',
      [second.receiptId],
    );
    expect(receipt?.parent_receipt_id).toBe(first.receiptId);
  });

  it('I18: sent forty times at once to two intakes, makes one run and forty receipts', async () => {
    const world = await aWorld();
    const intakes = [anAdmission(world), anAdmission(world)];
    const signal = aSignal();

    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        intakes[at % 2]?.admission.submit({ signal, tenant: 'default', payload: null }),
      ),
    );

    const admitted = answers.filter((answer) => answer?.reasonCode === 'ADMITTED');
    expect(admitted).toHaveLength(1);
    for (const answer of answers) expect(answer?.runId).toBe(admitted[0]?.runId);
    expect(await receiptsOf(world)).toHaveLength(40);
    expect(await world.sql('select 1 from headgate.run')).toHaveLength(1);
  });

  it('I8: is forgotten when its window has passed', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const signal = aSignal();
    await admission.submit({ signal, tenant: 'default', payload: null });
    await world.sql("update headgate.delivery set expires_at = now() - interval '1 second'");

    const again = await admission.submit({ signal, tenant: 'default', payload: null });

    // The work is still known: a forgotten delivery is no second state (inngest #4394).
    expect(again).toMatchObject({ reasonCode: 'DUPLICATE_WORK', existing: true });
  });
});

describe('the same work', () => {
  it('I4: in two deliveries of one version, is one run', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const first = await admission.submit(submissionOf());
    const second = await admission.submit(submissionOf());
    expect(second).toMatchObject({ reasonCode: 'DUPLICATE_WORK', runId: first.runId, existing: true });
  });

  it('I4: in one batch of one commit, is decided as if one came after the other', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
    const answers = await Promise.all([
      admission.submit(submissionOf({ inputVersion: sha('a'), sourceAt: at(1) })),
      admission.submit(submissionOf({ inputVersion: sha('a'), sourceAt: at(1) })),
      admission.submit(submissionOf({ inputVersion: sha('b'), sourceAt: at(2) })),
      admission.submit(submissionOf({ inputVersion: sha('c'), sourceAt: at(0) })),
    ]);
    expect(answers.map((answer) => answer.reasonCode)).toEqual([
      'ADMITTED',
      'DUPLICATE_WORK',
      'ADMITTED',
      'SUPERSEDED',
    ]);
    const runs = await world.sql<{ status: string }>('select status from headgate.run order by id');
    expect(runs.map((run) => run.status)).toEqual(['SUPERSEDED', 'QUEUED']);
    expect(await world.sql('select 1 from headgate.queue_item')).toHaveLength(1);
  });

  it('I8: a run that ended without work frees its version, as the next generation', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const first = await admission.submit(submissionOf());
    await world.sql("update headgate.run set status = 'NO_WORK', finished_at = now()");
    await world.sql("update headgate.task_version set outcome = 'NO_WORK'");
    await world.sql('delete from headgate.queue_item');

    const again = await admission.submit(submissionOf());
    const scanned = await admission.submit(submissionOf({ via: 'scan' }));

    expect(again).toMatchObject({ reasonCode: 'ADMITTED', taskId: first.taskId });
    expect(again.runId).not.toBe(first.runId);
    expect(scanned).toMatchObject({ reasonCode: 'DUPLICATE_WORK', runId: again.runId });
    const [run] = await world.sql<{ generation: number }>(
      'select generation from headgate.run where id = $1',
      [again.runId],
    );
    expect(run?.generation).toBe(2);
  });

  it('Q5: of a cancelled task is refused until a person resets it', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    await admission.submit(submissionOf());
    await world.sql('update headgate.task set cancelled_at = now()');

    const refused = await admission.submit(submissionOf({ inputVersion: sha('b') }));
    const reset = await admission.submit(
      submissionOf({ inputVersion: sha('b') }, { directive: { kind: 'reset', cancelLive: true } }),
    );

    expect(refused).toMatchObject({ outcome: 'reject', reasonCode: 'TASK_CANCELLED' });
    expect(reset).toMatchObject({ outcome: 'accept', reasonCode: 'ADMITTED' });
    const [task] = await world.sql<{ cancelled_at: Date | null; publication: number }>(
      'select cancelled_at, publication from headgate.task',
    );
    expect(task).toEqual({ cancelled_at: null, publication: 2 });
  });
});

describe('a batch', () => {
  it('I20: one signal that Postgres cannot store is MALFORMED, and the 199 beside it are unharmed', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const bad = 77;
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        admission.submit(
          submissionOf(
            at === bad
              ? { eventId: 'a NUL \u0000 in its id', actor: { kind: 'user', id: '5\u0000', name: 'ada' } }
              : anotherTarget(at),
          ),
        ),
      ),
    );
    expect(answers[bad]).toMatchObject({ outcome: 'reject', reasonCode: 'MALFORMED', runId: null });
    const others = answers.filter((_, at) => at !== bad);
    expect(new Set(others.map((answer) => answer.reasonCode))).toEqual(new Set(['ADMITTED']));
    expect(await receiptsOf(world)).toHaveLength(200);
    expect(await world.sql('select 1 from headgate.run')).toHaveLength(199);
    expect(await world.sql('select 1 from headgate.queue_item')).toHaveLength(199);
  });

  it('a signal that brings out a mistake of ours fails alone', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const poisoned = submissionOf(anotherTarget(3));
    Object.defineProperty(poisoned.signal, 'target', {
      get: () => {
        throw new TypeError('a mistake');
      },
    });
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, at) =>
        admission.submit(at === 3 ? poisoned : submissionOf(anotherTarget(10 + at))),
      ),
    );
    expect(results.map((result) => result.status === 'fulfilled')).toEqual(
      Array.from({ length: 8 }, (_, at) => at !== 3),
    );
  });

  it('I5: NUL and half a surrogate pair inside a payload are stored as replacement characters', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const answer = await admission.submit(
      submissionOf(
        { data: { check_run: { conclusion: 'failure' }, text: 'a\u0000b\ud800' } },
        { directive: { kind: 'none' } },
      ),
    );
    expect(answer.reasonCode).toBe('ADMITTED');
  });

  it('takes the same number of statements whatever its size', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    await admission.submit(submissionOf());
    const few = await statementsOf(() => submitAll(admission, 2, 0));
    const many = await statementsOf(() => submitAll(admission, 150, 10));
    expect(few).toBeGreaterThan(5);
    expect(many).toBe(few);
  });
});

const submitAll = (admission: Admission, size: number, from: number): Promise<unknown> =>
  Promise.all(
    Array.from({ length: size }, (_, at) => admission.submit(submissionOf(anotherTarget(from + at)))),
  );

/** Named statements that all connections of this process send meanwhile. */
async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  const spies = [vi.spyOn(Connection.prototype, 'run'), vi.spyOn(Connection.prototype, 'count')];
  try {
    await work();
    return spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
