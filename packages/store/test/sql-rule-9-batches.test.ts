import { systemIds } from '@headgate/domain';
import { finish, isDataFault, leases, reap, runs, seals, walk } from '@headgate/store';
import {
  claimRun,
  expireLease,
  runInStatus,
  type SeededLease,
  seedRun,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { json, plainText } from '../src/connection/rows.js';
import { misplaced } from './place.js';

const reaping = { limit: 100, graceMs: 1_000, random: () => 0.5, actor: 'reaper' };

const ending = ({ fence, attemptId }: SeededLease, costUsd = 0) => ({
  fence,
  attemptId,
  result: { kind: 'succeeded', reasonCode: 'SUCCEEDED' } as const,
  costUsd,
  evidence: null,
  actor: 'worker',
});

async function leased(db: TestStore): Promise<SeededLease> {
  const { lease } = await runInStatus(db, 'RUNNING');
  if (lease === null) throw new Error('no lease');
  return lease;
}

describe('SQL rule 9: one bad row never sinks a batch', () => {
  test('a move filters on the status it starts from, and the returned ids tell who lost', async () => {
    const db = await testStore();
    const [queued, running] = [await runInStatus(db, 'QUEUED'), await runInStatus(db, 'RUNNING')];
    const step = (runId: typeof queued.runId) => ({
      runId,
      from: 'QUEUED' as const,
      to: 'WAITING_CAPACITY' as const,
      reasonCode: 'PAUSED' as const,
      actor: 'test',
    });
    const unknown = systemIds.next('run');
    const moved = await db.service.transaction((c) =>
      runs.move(c, [step(running.runId), step(queued.runId), step(unknown)]),
    );
    expect(moved).toEqual(new Set([queued.runId]));
    const told = await db.service.use((c) =>
      c.query("select run_id, from_status, to_status from headgate.run_event where reason_code = 'PAUSED'"),
    );
    expect(told).toEqual([{ run_id: queued.runId, from_status: 'QUEUED', to_status: 'WAITING_CAPACITY' }]);
  });

  test('a walk stops where its run did not move; the others arrive', async () => {
    const db = await testStore();
    const [one, two] = [
      await seedRun(db, { status: 'ADMITTED' }),
      await seedRun(db, { status: 'WAITING_APPROVAL' }),
    ];
    const steps = [
      { to: 'CANCEL_REQUESTED', reasonCode: 'CANCELLED_BY_USER' },
      { to: 'CANCELLING', reasonCode: null },
      { to: 'CANCELLED', reasonCode: null },
    ] as const;
    const arrived = await db.service.transaction((c) =>
      walk(c, [
        { runId: one.runId, from: 'ADMITTED', steps, actor: 'test' },
        { runId: two.runId, from: 'ADMITTED', steps, actor: 'test' },
      ]),
    );
    expect(arrived).toEqual(new Set([one.runId]));
  });

  test('broken variant: two CTEs on one row in one statement change it once', async () => {
    const db = await testStore();
    const { runId } = await seedRun(db, { status: 'ADMITTED' });
    await db.service.use((c) =>
      c.query(
        `with one as (update headgate.run set status = 'QUEUED' where id = $1 returning id),
              two as (update headgate.run r set status = 'CLAIMED' from one where r.id = one.id returning r.id)
         select from one, two`,
        [runId],
      ),
    );
    expect(await db.service.use((c) => c.query('select status from headgate.run'))).toEqual([
      { status: 'QUEUED' },
    ]);
  });

  test('a finish batch with one row that the database refuses finishes the others and names that one', async () => {
    const db = await testStore();
    const list = [await leased(db), await leased(db), await leased(db), await leased(db), await leased(db)];
    // More than numeric(14, 6) holds.
    const answers = await finish(
      db.service,
      list.map((lease, at) => ending(lease, at === 3 ? 1e12 : 1)),
      () => 0.5,
    );
    expect(list.map(({ fence }) => answers.get(fence.runId)?.kind)).toEqual([
      'finished',
      'finished',
      'finished',
      'refused',
      'finished',
    ]);
    const days = await db.service.use((c) => c.query('select settled_usd from headgate.tenant_day'));
    expect(days).toEqual([{ settled_usd: 4 }]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('an ending that no run in that status may have is refused, and its lease stands', async () => {
    const db = await testStore();
    const lease = await leased(db);
    const answers = await finish(
      db.service,
      [{ ...ending(lease), result: { kind: 'no-work', reasonCode: 'STALE_INPUT', detail: null } }],
      () => 0.5,
    );
    expect(answers.get(lease.fence.runId)).toEqual({
      kind: 'refused',
      detail: 'a run that is RUNNING cannot end with no-work',
    });
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('the reaper takes the others when one lease cannot be taken, and names it', async () => {
    const db = await testStore();
    const [bad, ...others] = [await leased(db), await leased(db), await leased(db)];
    if (bad === undefined) throw new Error('no lease');
    // A second item of a leased run cannot be: what it would be given for its retry meets it.
    await db.service.use(async (c) => {
      await c.query(
        `insert into headgate.queue_item (run_id, tenant_id, state, visible_at, rank_at, enqueued_at, task_id, exclusive_task,
                                          task_type_id, risk, queue_id, agent_id)
         select run_id, tenant_id, 'ready', now(), now(), now(), task_id, true, 1, 0, 1, 1
           from headgate.lease where run_id = $1`,
        [bad.fence.runId],
      );
    });
    for (const { fence } of [bad, ...others]) await expireLease(db, fence.runId);
    for (const expected of [others.map(({ fence }) => fence.runId), []]) {
      const result = await reap(db.service, reaping);
      if (result.kind !== 'reaped') throw new Error('graced');
      expect(new Set(result.runs.map((run) => run.runId))).toEqual(new Set(expected));
      expect(result.refused.map(({ runId }) => runId)).toEqual([bad.fence.runId]);
      expect(result.refused.every(({ fault }) => isDataFault(fault))).toBe(true);
    }
  });

  test('a lease beside an ended run is only a lease: the reaper removes it and the run stays as it is', async () => {
    const db = await testStore();
    const { fence } = await leased(db);
    const { runId } = await runInStatus(db, 'SUCCEEDED');
    await db.service.use((c) =>
      c.query(
        "update headgate.lease set run_id = $1, expires_at = now() - interval '1 s' where run_id = $2",
        [runId, fence.runId],
      ),
    );
    expect(await reap(db.service, reaping)).toEqual({ kind: 'reaped', runs: [], refused: [] });
    expect(await db.service.use((c) => leases.counts(c))).toMatchObject({ live: 0 });
  });

  test('NUL and half surrogates from outside are stored as U+FFFD, and refuse no batch', async () => {
    const db = await testStore();
    const run = await seedRun(db, {
      spec: { inputs: { title: 'a\u0000b\ud800' } },
      receipt: { actor: 'mo\u0000na' },
    });
    const lease = await claimRun(db, run);
    const verification = { log: 'x\u0000y', half: '\udc00' };
    const bundle = Buffer.alloc(0);
    await seals.put(
      db.service,
      lease.fence,
      lease.attemptId,
      { verdict: 'no-change', baseVersion: 'a', commitSha: null, verification, summary: 's\u0000', bundle },
      null,
    );
    const result = {
      kind: 'failed',
      reasonCode: 'SETUP_FAILED',
      detail: 'out\u0000put',
      retryAfterMs: null,
    } as const;
    const answers = await finish(
      db.service,
      [{ ...ending(lease), result, evidence: { tail: '\u0000' } }],
      () => 0.5,
    );
    expect(answers.get(run.runId)).toMatchObject({ kind: 'finished', status: 'FAILED' });
    const rows = await db.service.use((c) =>
      c.query(`select r.reason_detail, r.spec -> 'inputs' ->> 'title' as title, a.detail, a.evidence, d.actor,
                      s.verification, s.summary
                 from headgate.run r join headgate.attempt a on a.run_id = r.id
                 join headgate.receipt d on d.id = r.receipt_id join headgate.seal s on s.run_id = r.id`),
    );
    expect(rows).toEqual([
      {
        reason_detail: 'out\ufffdput',
        title: 'a\ufffdb\ufffd',
        detail: 'out\ufffdput',
        evidence: { tail: '\ufffd' },
        actor: 'mo\ufffdna',
        verification: { log: 'x\ufffdy', half: '\ufffd' },
        summary: 's\ufffd',
      },
    ]);
  });
});

describe('JSON for jsonb', () => {
  const stored = (text: string): string => Buffer.from(text.replaceAll('\u0000', '\ufffd')).toString();

  test('any value comes out as it went in, but for NUL and half surrogates', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), fc.string(), (list, text) => {
        expect(JSON.parse(json(list) ?? '')).toEqual(list.map(stored));
        expect(plainText(text)).toBe(text.replaceAll('\u0000', '\ufffd'));
      }),
    );
  });

  test('a backslash before u0000 is text, not an escape', () => {
    const text = String.raw`\u0000 \\u0000 \ud800`;
    expect(JSON.parse(json([text, '\\\u0000', '\u0000\u0000']) ?? '')).toEqual([
      text,
      '\\\ufffd',
      '\ufffd\ufffd',
    ]);
  });

  test('nothing is null', () => {
    expect([json(undefined), json(null), plainText(null)]).toEqual([null, null, null]);
  });
});
