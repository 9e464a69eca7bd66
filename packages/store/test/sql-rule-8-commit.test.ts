import type { ReceiptId } from '@headgate/domain';
import {
  CommitUnknownError,
  type Connection,
  claim,
  finish,
  isConnectionFault,
  openDatabase,
  Pool,
  receipts,
  type TransactionOptions,
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
  type Write = (c: Connection, write: () => Promise<unknown>, losing: () => void) => Promise<unknown>;

  test.each<[string, Write]>([
    ['what was committed', (_, write, losing) => write().then(losing)],
    [
      'what was sent with its COMMIT, before any of it was answered,',
      async (c, write, losing) => {
        await c.query('select 1');
        losing();
        await c.last(write);
      },
    ],
  ])('%s is read back by its id, and nothing is done twice', async (_, commit) => {
    const { db, proxy, pool } = await behindProxy();
    const tenant = await seedTenant(db);
    const receipt = aReceipt({ tenantId: tenant.id });
    let tries = 0;
    const answer = pool.transaction(
      async (c) => {
        tries += 1;
        const write = () => receipts.insertDecisions(c, [receipt]);
        await commit(c, write, () => proxy.blackhole('toClient'));
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

describe('SQL rule 8: a COMMIT that is sent with the last statements', () => {
  test('commits nothing where one of them is refused, and the fault is that statement’s', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const receipt = aReceipt({ tenantId: tenant.id });
    const twice = db.service.transaction((c) =>
      c.last(() =>
        Promise.all([receipts.insertDecisions(c, [receipt]), receipts.insertDecisions(c, [receipt])]),
      ),
    );
    await expect(twice).rejects.toMatchObject({ code: '23505' });
    expect(await idsOf(db.service, receipt.id)).toEqual(new Set());
    // The session is as good as before.
    await db.service.transaction((c) => c.last(() => receipts.insertDecisions(c, [receipt])));
    expect(await idsOf(db.service, receipt.id)).toEqual(new Set([receipt.id]));
  });

  test('is not sent, nor anything before it, where what writes fails on the way', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const receipt = aReceipt({ tenantId: tenant.id });
    const steps = async (c: Connection): Promise<void> => {
      const sent = receipts.insertDecisions(c, [receipt]);
      await Promise.all([sent, Promise.resolve().then(() => Promise.reject(new Error('a mistake')))]);
    };
    const failing = db.service.transaction((c) => c.last(() => steps(c)));
    await expect(failing).rejects.toThrow('a mistake');
    expect(await idsOf(db.service, receipt.id)).toEqual(new Set());
  });

  test('is the end: what is sent behind it is refused, and no transaction of its own', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const [first, late] = [aReceipt({ tenantId: tenant.id }), aReceipt({ tenantId: tenant.id })];
    const behind = db.service.transaction(async (c) => {
      await c.last(() => receipts.insertDecisions(c, [first]));
      await receipts.insertDecisions(c, [late]);
    });
    await expect(behind).rejects.toThrow(/behind the COMMIT/);
    expect(await idsOf(db.service, late.id)).toEqual(new Set());
  });

  test('a transaction that Postgres has rolled back is no success', async () => {
    const db = await testStore();
    const swallowed = db.service.transaction(async (c) => {
      await c.query('select 1/0').catch(() => {});
    });
    await expect(swallowed).rejects.toThrow(/ended by ROLLBACK/);
  });
});
