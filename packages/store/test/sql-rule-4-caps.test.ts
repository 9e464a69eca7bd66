import {
  type DispatchSnapshot,
  dispatch,
  dispatchedItems,
  locks,
  policies,
  readyItems,
} from '@headgate/store';
import {
  aPolicy,
  aTenantPolicy,
  claimRun,
  dispatchRuns,
  finishRun,
  seedRun,
  seedRuns,
  seedTenant,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { serviceSession, sessionsWait } from './sessions.js';

const CAP = 5;

const heldIn = (snapshot: DispatchSnapshot): number => snapshot.held.reduce((sum, row) => sum + row.held, 0);

/** Takes the oldest heads while the cap leaves room, as the domain's selection does. */
const withinCap = (snapshot: DispatchSnapshot) =>
  snapshot.heads.slice(0, Math.max(0, CAP - heldIn(snapshot))).map((head) => head.runId);

const HELD_NOW = `select (select count(*) from headgate.lease)
  + (select count(*) from headgate.queue_item where state = 'dispatched') as n`;

async function heldNow(db: TestStore): Promise<number> {
  const [row] = await db.service.use((c) => c.query<{ n: string }>(HELD_NOW));
  return Number(row?.n);
}

describe('SQL rule 4: lock, then count once, then mark', () => {
  test('INV-QU1: dispatchers that run at once never exceed a cap, while claims move items to leases', async () => {
    const db = await testStore({ maxConnections: 8 });
    const tenant = await seedTenant(db);
    const list = await seedRuns(db, 20, { tenant });
    const pairs = [{ queueId: tenant.queueId, tenantId: tenant.id, after: null }];
    const turn = () => dispatch(db.service, { pairs, read: 20, wait: true, choose: withinCap });
    await Promise.all(Array.from({ length: 6 }, turn));
    expect(await heldNow(db)).toBe(CAP);
    // A lease and a dispatched item count alike: a claim in between makes no room.
    const [dispatched] = await db.service.use((c) =>
      c.query<{ id: string; no: number }>(
        "select run_id as id, dispatch_no as no from headgate.queue_item where state = 'dispatched' limit 1",
      ),
    );
    const claimed = list.find((run) => run.runId === dispatched?.id);
    if (claimed === undefined) throw new Error('nothing was dispatched');
    await db.service.use((c) =>
      c.query("update headgate.queue_item set state = 'ready', dispatched_at = null where run_id = $1", [
        claimed.runId,
      ]),
    );
    const lease = await claimRun(db, claimed);
    await Promise.all(Array.from({ length: 6 }, turn));
    expect(await heldNow(db)).toBe(CAP);
    await finishRun(db, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
    await Promise.all(Array.from({ length: 6 }, turn));
    expect(await heldNow(db)).toBe(CAP);
  });

  test('a dispatcher that only tries gives up at once while another holds the lock', async () => {
    const db = await testStore();
    const session = await serviceSession(db);
    await session.query('begin');
    await session.query("select pg_advisory_xact_lock(hashtextextended('headgate.dispatch', 0))");
    const turn = { pairs: [], read: 1, choose: () => [] };
    expect(await dispatch(db.service, { ...turn, wait: false })).toEqual({ kind: 'locked' });
    const waiting = dispatch(db.service, { ...turn, wait: true });
    await sessionsWait(db);
    await session.query('commit');
    expect(await waiting).toEqual({ kind: 'dispatched', items: [], runs: [] });
  });

  test('broken variant: two that count without the lock make ten out of five', async () => {
    const db = await testStore();
    const list = await seedRuns(db, 2 * CAP);
    const [one, two] = [await serviceSession(db), await serviceSession(db)];
    const mark = `update headgate.queue_item set state = 'dispatched', dispatched_at = now() where run_id = any ($1)`;
    const ids = list.map((run) => run.runId);
    await one.query('begin');
    await two.query('begin');
    for (const [session, chosen] of [
      [one, ids.slice(0, CAP)],
      [two, ids.slice(CAP)],
    ] as const) {
      const { rows } = await session.query<{ n: string }>(HELD_NOW);
      expect(Number(rows[0]?.n)).toBe(0);
      await session.query(mark, [chosen]);
    }
    await one.query('commit');
    await two.query('commit');
    expect(await heldNow(db)).toBe(2 * CAP);
  });

  test('broken variant: a statement that locks and counts counts with the snapshot from before its wait', async () => {
    const db = await testStore();
    const list = await seedRuns(db, CAP);
    const session = await serviceSession(db);
    const lock = "pg_advisory_xact_lock(hashtextextended('headgate.dispatch', 0))";
    const counted = db.service.transaction(async (c) => {
      await locks.dispatch(c);
      await dispatchedItems.mark(
        c,
        list.map((run) => run.runId),
      );
      const answer = session.query<{ n: string }>(`select ${lock}, (${HELD_NOW}) as n`);
      await sessionsWait(db);
      return { answer };
    });
    const { rows } = await (await counted).answer;
    expect(Number(rows[0]?.n)).toBe(0);
    expect(await heldNow(db)).toBe(CAP);
  });

  test('a run whose concurrency key is full is passed over by the heads, and others behind it are found', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const busy = { tenant, concurrency: { key: 'deploy', limit: 1 } };
    const [first] = await seedRuns(db, 3, busy);
    const free = await seedRun(db, { tenant });
    if (first === undefined) throw new Error('nothing was seeded');
    await dispatchRuns(db, [first]);
    const seen: string[] = [];
    await dispatch(db.service, {
      pairs: [{ queueId: tenant.queueId, tenantId: tenant.id, after: null }],
      read: 1,
      wait: true,
      choose: ({ heads }) => {
        seen.push(...heads.map((head) => head.runId));
        return [];
      },
    });
    expect(seen).toEqual([free.runId]);
  });

  test('a cursor resumes at the exact item behind heads of one millisecond, in the order of rank', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const normal = await seedRuns(db, 5, { tenant });
    const urgent = await seedRun(db, { tenant, headStartSeconds: 14_400 });
    const low = await seedRun(db, { tenant, headStartSeconds: -3_600 });
    await db.service.use((c) =>
      c.query(
        "update headgate.queue_item set rank_at = date_trunc('second', now()) where run_id = any ($1)",
        [normal.map((run) => run.runId)],
      ),
    );
    const pair = { queueId: tenant.queueId, tenantId: tenant.id };
    const seen: string[] = [];
    for (let after: { rankAt: Date; runId: (typeof low)['runId'] } | null = null; ; ) {
      const heads = await db.service.use((c) => readyItems.heads(c, [{ ...pair, after }], 2, []));
      seen.push(...heads.map((head) => head.runId));
      const last = heads.at(-1);
      if (last === undefined) break;
      after = { rankAt: last.rankAt, runId: last.runId };
    }
    expect(seen).toEqual([urgent.runId, ...normal.map((run) => run.runId).sort(), low.runId]);
    expect(await db.service.use((c) => readyItems.pairs(c))).toEqual([pair]);
    expect(
      await db.service.use((c) => readyItems.countOf(c, [{ tenantId: tenant.id, most: 3 }], [pair.queueId])),
    ).toEqual(new Map([[tenant.id, 4]]));
  });
});

describe('activating a policy', () => {
  const lowered = aPolicy({ tenants: [aTenantPolicy({ maxActive: 1 })] });

  test('waits for the claims that read the old head, and for the dispatcher', async () => {
    const db = await testStore();
    await seedTenant(db);
    const session = await serviceSession(db);
    await session.query('begin');
    await session.query("select pg_advisory_xact_lock_shared(hashtextextended('headgate.policy', 0))");
    let isActive = false;
    const activated = policies.activate(db.service, lowered, 'test').then((version) => {
      isActive = true;
      return version;
    });
    await sessionsWait(db);
    expect(isActive).toBe(false);
    await session.query('commit');
    const { version } = await activated;
    expect(await db.service.use((c) => policies.headVersion(c))).toBe(version);
  });

  test('takes back what was dispatched under the old limits, with an event; the same policy again takes nothing', async () => {
    const db = await testStore();
    const list = await seedRuns(db, 3);
    await dispatchRuns(db, list);
    const { version } = await policies.activate(db.service, lowered, 'operator');
    const rows = await db.service.use((c) =>
      c.query(`select q.state, e.reason_code, e.actor, e.data -> 'policyVersion' as version
                 from headgate.queue_item q join headgate.run_event e on e.run_id = q.run_id
                where e.type = 'item.taken_back'`),
    );
    expect(rows).toEqual(
      list.map(() => ({ state: 'ready', reason_code: 'READY', actor: 'operator', version })),
    );
    await dispatchRuns(db, list);
    expect(await policies.activate(db.service, lowered, 'operator')).toMatchObject({ version });
    expect(await heldNow(db)).toBe(3);
    expect(await db.service.use((c) => policies.byVersion(c, version))).toEqual({ version, policy: lowered });
  });
});
