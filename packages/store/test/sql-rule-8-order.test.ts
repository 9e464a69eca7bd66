import { hashWorkKey, systemIds } from '@headgate/domain';
import { type Connection, claim, type Seal, seals, type TaskKey, tasks } from '@headgate/store';
import {
  claimRun,
  finishRun,
  offerRuns,
  seedRun,
  seedTenant,
  seedWorker,
  testStore,
} from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { misplaced } from './place.js';
import { serviceSession } from './sessions.js';

/** Opens when it is told to. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

const aSeal: Seal = {
  verdict: 'changes',
  baseVersion: 'a'.repeat(40),
  commitSha: 'b'.repeat(40),
  bundle: Buffer.from('bundle'),
  verification: [],
  summary: null,
};

describe('SQL rule 8: one lock order', () => {
  test('two batches over the same tasks in opposite order wait for each other and do not deadlock', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const keys: TaskKey[] = Array.from({ length: 12 }, (_, n) => ({
      taskId: systemIds.next('task'),
      tenantId: tenant.id,
      keyHash: hashWorkKey(`key-${n}`),
      workKey: `key-${n}`,
    }));
    let tries = 0;
    const batch = (list: readonly TaskKey[]) =>
      db.service.transaction(
        async (c) => {
          tries += 1;
          return (await tasks.lock(c, list)).map((row) => row.workKey);
        },
        { retries: 0 },
      );
    // New tasks in the first round, existing ones after it.
    for (let round = 0; round < 3; round += 1) {
      const locked = await Promise.all([
        batch(keys),
        batch(keys.toReversed()),
        batch(keys),
        batch(keys.toReversed()),
      ]);
      for (const one of locked) expect(one).toEqual(locked[0]);
    }
    expect(tries).toBe(12);
  });

  test('who holds a task keeps nobody from claiming, sealing and finishing its run: a cancel waits for those', async () => {
    const db = await testStore();
    const run = await seedRun(db);
    const [held, done] = [gate(), gate()];
    const holder = db.reserved.transaction(async (c) => {
      await tasks.lockById(c, [run.taskId]);
      held.open();
      await done.opened;
    });
    await held.opened;
    const lease = await claimRun(db, run);
    const sealed = await seals.put(db.service, lease.fence, lease.attemptId, aSeal, 'agent/branch');
    const answer = await finishRun(db, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
    done.open();
    await holder;
    expect(sealed).toBe('sealed');
    expect(answer).toMatchObject({ kind: 'finished', status: 'SUCCEEDED' });
  });

  test('broken variant: the same rows locked in two orders deadlock (40P01)', async () => {
    const db = await testStore();
    const [one, two] = [await seedRun(db), await seedRun(db)];
    const [a, b] = [await serviceSession(db), await serviceSession(db)];
    const lock = 'select 1 from headgate.task where id = $1 for update';
    await a.query('begin');
    await b.query('begin');
    await a.query(lock, [one.taskId]);
    await b.query(lock, [two.taskId]);
    const crossed = await Promise.allSettled([a.query(lock, [two.taskId]), b.query(lock, [one.taskId])]);
    expect(crossed.flatMap((end) => (end.status === 'rejected' ? [end.reason.code] : []))).toEqual(['40P01']);
  });

  test('replay (graphile #636): one transient deadlock is retried as a whole transaction; the pool lives', async () => {
    const db = await testStore();
    const [one, two] = [await seedRun(db), await seedRun(db)];
    const lock = (c: Connection, id: string) =>
      c.query('select 1 from headgate.task where id = $1 for update', [id]);
    const [firstHasOne, firstHasTwo] = [gate(), gate()];
    let tries = 0;
    const crossing = (
      mine: typeof one,
      theirs: typeof one,
      have: typeof firstHasOne,
      wait: typeof firstHasOne,
    ) =>
      db.service.transaction(async (c) => {
        tries += 1;
        await lock(c, mine.taskId);
        have.open();
        await wait.opened;
        await lock(c, theirs.taskId);
        await c.query('update headgate.task set publication = publication + 1 where id = any ($1)', [
          [one.taskId, two.taskId],
        ]);
      });
    await Promise.all([
      crossing(one, two, firstHasOne, firstHasTwo),
      crossing(two, one, firstHasTwo, firstHasOne),
    ]);
    expect(tries).toBeGreaterThan(2);
    const rows = await db.service.use((c) => c.query('select publication from headgate.task'));
    expect(rows).toEqual([{ publication: 3 }, { publication: 3 }]);
  });

  test('a deadlock that comes again and again is thrown after its bounded tries', async () => {
    const db = await testStore();
    let tries = 0;
    const failing = db.service.transaction(
      async (c) => {
        tries += 1;
        await c.query(
          "do $$ begin raise exception using errcode = '40P01', message = 'deadlock detected'; end $$",
        );
      },
      { retries: 2 },
    );
    await expect(failing).rejects.toMatchObject({ code: '40P01' });
    expect(tries).toBe(3);
    expect(await db.service.use((c) => c.query('select 1 as lives'))).toEqual([{ lives: 1 }]);
  });

  test('a claim that waits for a rival key in another order than its rival ends by the database, not by us', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const workerId = await seedWorker(db, { queueIds: [tenant.queueId] });
    const rivals = { tenant, concurrency: { key: 'deploy', limit: 1 } };
    const list = [await seedRun(db, rivals), await seedRun(db, rivals), await seedRun(db, { tenant })];
    const hints = await offerRuns(db, list);
    const request = {
      workerId,
      queueIds: [tenant.queueId],
      ttlMs: 60_000,
      policyVersion: tenant.policyVersion,
      limit: 9,
      verdictMaxAgeMs: 30_000,
    };
    const results = await Promise.all(hints.map((hint) => claim(db.service, { ...request, hinted: [hint] })));
    const taken = results.flatMap((result) => (result.kind === 'claimed' ? result.runs : []));
    const busy = results.flatMap((result) => (result.kind === 'claimed' ? result.busy : []));
    expect([taken.length, busy.length]).toEqual([2, 1]);
    expect(await misplaced(db.service)).toEqual([]);
  });
});
