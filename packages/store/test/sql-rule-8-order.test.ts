import { hashWorkKey, type ReceiptId, systemIds } from '@headgate/domain';
import {
  CommitUnknownError,
  type Connection,
  claim,
  finish,
  isConnectionFault,
  openDatabase,
  Pool,
  receipts,
  type TaskKey,
  type TransactionOptions,
  tasks,
} from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import {
  aReceipt,
  atEnd,
  claimRun,
  eventually,
  type FaultProxy,
  faultProxy,
  offerRuns,
  seedRun,
  seedTenant,
  seedWorker,
  type TestStore,
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

interface Cut {
  readonly db: TestStore;
  readonly proxy: FaultProxy;
  /** Reaches the same database, through the proxy. */
  readonly pool: Pool;
}

async function behindProxy(): Promise<Cut> {
  const db = await testStore();
  const proxy = await faultProxy({ port: Number(new URL(db.urls.serviceUrl).port) });
  const cut = openDatabase({
    serviceUrl: proxy.through(db.urls.serviceUrl),
    applicationName: 'test',
    logger: createLogger('test', { level: 'silent' }),
  });
  atEnd(() => cut.close());
  return { db, proxy, pool: cut.service };
}

const idsOf = async (pool: Pool, id: ReceiptId): Promise<ReadonlySet<ReceiptId>> =>
  pool.use((c) => receipts.existing(c, [id]));

describe('SQL rule 8: a connection lost after COMMIT', () => {
  test('what was committed is read back by its id, and nothing is done twice', async () => {
    const { db, proxy, pool } = await behindProxy();
    const tenant = await seedTenant(db);
    const receipt = aReceipt({ tenantId: tenant.id });
    let tries = 0;
    const answer = pool.transaction(
      async (c) => {
        tries += 1;
        await receipts.insertDecisions(c, [receipt]);
        proxy.blackhole('toClient');
        return 'committed';
      },
      {
        readBack: async (c) => ((await receipts.existing(c, [receipt.id])).size > 0 ? 'read back' : null),
      },
    );
    await eventually(async () => (await idsOf(db.service, receipt.id)).size === 1, {
      what: 'the COMMIT took effect',
    });
    proxy.cut();
    proxy.heal();
    expect(await answer).toBe('read back');
    expect(tries).toBe(1);
  });

  test('what never reached the server is tried again, with the same ids', async () => {
    const { db, proxy, pool } = await behindProxy();
    const tenant = await seedTenant(db);
    const receipt = aReceipt({ tenantId: tenant.id });
    let tries = 0;
    const answer = pool.transaction(
      async (c) => {
        tries += 1;
        await receipts.insertDecisions(c, [receipt]);
        if (tries === 1) {
          proxy.blackhole('toTarget');
          setImmediate(() => {
            proxy.cut();
            proxy.heal();
          });
        }
        return 'committed';
      },
      {
        readBack: async (c) => ((await receipts.existing(c, [receipt.id])).size > 0 ? 'read back' : null),
      },
    );
    expect(await answer).toBe('committed');
    expect(tries).toBe(2);
    expect((await idsOf(db.service, receipt.id)).size).toBe(1);
  });

  test('a COMMIT that lands after it was read back as absent is found when the second try meets its rows', async () => {
    const { db, proxy, pool } = await behindProxy();
    const tenant = await seedTenant(db);
    const receipt = aReceipt({ tenantId: tenant.id });
    let reads = 0;
    const answer = pool.transaction(
      async (c) => {
        await receipts.insertDecisions(c, [receipt]);
        if (reads === 0) proxy.blackhole('toClient');
        return 'committed';
      },
      {
        readBack: async (c) => {
          reads += 1;
          // The first look comes too early to see it.
          return reads > 1 && (await receipts.existing(c, [receipt.id])).size > 0 ? 'read back' : null;
        },
      },
    );
    await eventually(async () => (await idsOf(db.service, receipt.id)).size === 1, {
      what: 'the COMMIT took effect',
    });
    proxy.cut();
    proxy.heal();
    expect(await answer).toBe('read back');
    expect(reads).toBe(2);
  });

  test('without a way to read back it is said that nobody knows', async () => {
    const { db, proxy, pool } = await behindProxy();
    const tenant = await seedTenant(db);
    const receipt = aReceipt({ tenantId: tenant.id });
    const answer = pool
      .transaction(async (c) => {
        await receipts.insertDecisions(c, [receipt]);
        proxy.blackhole('toClient');
      })
      .catch((fault: unknown) => fault);
    await eventually(async () => (await idsOf(db.service, receipt.id)).size === 1, {
      what: 'the COMMIT took effect',
    });
    proxy.cut();
    proxy.heal();
    const fault = await answer;
    expect(fault).toBeInstanceOf(CommitUnknownError);
    expect(fault instanceof CommitUnknownError && isConnectionFault(fault.cause)).toBe(true);
  });

  test('a backend that is killed inside a transaction leaves nothing; the pool makes a new session', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const receipt = aReceipt({ tenantId: tenant.id });
    const dying = db.service.transaction(async (c) => {
      await receipts.insertDecisions(c, [receipt]);
      await c.query('select pg_terminate_backend(pg_backend_pid())');
    });
    await expect(dying).rejects.toSatisfy(isConnectionFault);
    expect((await idsOf(db.service, receipt.id)).size).toBe(0);
  });

  test('a claim whose answer was lost is read back: the worker holds its lease and knows it', async () => {
    const { db, proxy } = await behindProxy();
    const pool = new CutPool(db, proxy);
    const run = await seedRun(db);
    const workerId = await seedWorker(db, { queueIds: [run.tenant.queueId] });
    const hinted = await offerRuns(db, [run]);
    const claimed = claim(pool, {
      workerId,
      queueIds: [run.tenant.queueId],
      ttlMs: 60_000,
      policyVersion: run.tenant.policyVersion,
      hinted,
      limit: 1,
      verdictMaxAgeMs: 30_000,
    });
    await cutOnceThere(db, proxy, 'select 1 from headgate.lease');
    const result = await claimed;
    const [lease] = await db.service.use((c) =>
      c.query<{ id: string; token: string }>(
        'select lease_id as id, fencing_token::text as token from headgate.lease',
      ),
    );
    expect(result).toMatchObject({
      kind: 'claimed',
      runs: [{ runId: run.runId, attemptNo: 1, leaseId: lease?.id, fencingToken: lease?.token }],
    });
  });

  test('a finish whose answer was lost is read back, and its cost is settled once', async () => {
    const { db, proxy } = await behindProxy();
    const pool = new CutPool(db, proxy);
    const run = await seedRun(db);
    const { fence, attemptId } = await claimRun(db, run);
    const finished = finish(
      pool,
      [
        {
          fence,
          attemptId,
          result: { kind: 'succeeded', reasonCode: 'SUCCEEDED' },
          costUsd: 2,
          evidence: null,
          actor: 'w',
        },
      ],
      () => 0.5,
    );
    await cutOnceThere(db, proxy, "select 1 from headgate.run where status = 'SUCCEEDED'");
    expect((await finished).get(run.runId)).toMatchObject({ kind: 'finished', status: 'SUCCEEDED' });
    const days = await db.service.use((c) => c.query('select settled_usd from headgate.tenant_day'));
    expect(days).toEqual([{ settled_usd: 2 }]);
  });
});

/** Its first COMMIT reaches the server; the answer to it never comes back. */
class CutPool extends Pool {
  readonly #proxy: FaultProxy;
  #isCut = false;

  constructor(db: TestStore, proxy: FaultProxy) {
    super(proxy.through(db.urls.serviceUrl), 2, {
      applicationName: 'test',
      logger: createLogger('test', { level: 'silent' }),
    });
    this.#proxy = proxy;
    atEnd(() => this.end());
  }

  override transaction<T>(
    work: (c: Connection) => Promise<T>,
    options: TransactionOptions<T> = {},
  ): Promise<T> {
    return super.transaction(async (c) => {
      const result = await work(c);
      if (!this.#isCut) this.#proxy.blackhole('toClient');
      this.#isCut = true;
      return result;
    }, options);
  }
}

async function cutOnceThere(db: TestStore, proxy: FaultProxy, committed: string): Promise<void> {
  await eventually(async () => (await db.service.use((c) => c.query(committed))).length > 0, {
    what: 'the COMMIT took effect',
  });
  proxy.cut();
  proxy.heal();
}
