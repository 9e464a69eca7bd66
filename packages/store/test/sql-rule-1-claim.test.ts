import {
  claim,
  dispatchedItems,
  expireOverdue,
  promoteDue,
  takeBackUnclaimed,
  unansweredHints,
} from '@headgate/store';
import {
  dispatchRuns,
  offerRuns,
  type SeededRun,
  seedRuns,
  seedTenant,
  seedWorker,
  type TestStore,
  testStore,
  withClient,
} from '@headgate/testkit';
import { beforeEach, describe, expect, test } from 'vitest';
import { serviceSession } from './sessions.js';

const WAITING = 12;

/** Every session of this database plans by nested loops: legal, and what a wrong estimate leads to. */
async function storeWithNestedLoops(): Promise<TestStore> {
  const db = await testStore();
  await withClient(db.urls.ownerUrl, async (owner) => {
    for (const setting of ['hashjoin', 'mergejoin', 'hashagg', 'sort', 'material', 'memoize']) {
      await owner.query(`alter database ${db.urls.name} set enable_${setting} = off`);
    }
    await owner.query(`alter database ${db.urls.name} set plan_cache_mode = force_generic_plan`);
  });
  return db;
}

describe('SQL rule 1, under a forced nested loop (replay: odd-jobs #115)', () => {
  let db: TestStore;
  let list: SeededRun[];
  beforeEach(async () => {
    db = await storeWithNestedLoops();
    list = await seedRuns(db, WAITING, { timeToLiveMs: 0 });
  });

  test('a claim of n takes n leases, whatever was offered', async () => {
    const tenant = await seedTenant(db);
    const workerId = await seedWorker(db, { queueIds: [tenant.queueId] });
    const hinted = await offerRuns(db, list);
    expect(hinted).toHaveLength(WAITING);
    const result = await claim(db.service, {
      workerId,
      queueIds: [tenant.queueId],
      ttlMs: 60_000,
      policyVersion: tenant.policyVersion,
      hinted,
      limit: 3,
      verdictMaxAgeMs: 30_000,
    });
    expect(result.kind === 'claimed' && result.runs).toHaveLength(3);
    expect(await countOf(db, 'headgate.lease')).toBe(3);
  });

  test('hints sent again, items taken back, promoted and expired: each by its limit', async () => {
    const upkeep = { hintAgainAfterMs: -1, takeBackAfterMs: -1, limit: 3, actor: 'test' };
    await dispatchRuns(db, list);
    expect(await unansweredHints(db.service, upkeep)).toHaveLength(3);
    expect(await takeBackUnclaimed(db.service, upkeep)).toHaveLength(3);
    expect(await countOf(db, "headgate.queue_item where state = 'ready'")).toBe(3);
    expect(await expireOverdue(db.service, 4, 'test')).toHaveLength(4);
    expect(await countOf(db, "headgate.run where status = 'EXPIRED'")).toBe(4);
    await db.service.use((c) =>
      c.query(`update headgate.queue_item set state = 'delayed', dispatched_at = null, visible_at = now()`),
    );
    expect(await promoteDue(db.service, 2, 'test')).toHaveLength(2);
  });

  test('marking is bounded by what was chosen', async () => {
    const [first] = list;
    if (first === undefined) throw new Error('nothing was seeded');
    const marked = await db.service.transaction((c) => dispatchedItems.mark(c, [first.runId]));
    expect(marked.map((item) => item.runId)).toEqual([first.runId]);
  });

  test('broken variant: IN (SELECT … LIMIT 1 FOR UPDATE SKIP LOCKED) claims more than one', async () => {
    const session = await serviceSession(db);
    await session.query(
      'set enable_indexscan = off; set enable_bitmapscan = off; set enable_indexonlyscan = off',
    );
    const { rowCount } = await session.query(
      `update headgate.queue_item set state = 'dispatched', dispatched_at = now()
        where run_id in (select run_id from headgate.queue_item where state = 'ready' limit 1 for update skip locked)`,
    );
    expect(rowCount).toBeGreaterThan(1);
  });
});

async function countOf(db: TestStore, from: string): Promise<number> {
  const [row] = await db.service.use((c) => c.query<{ n: number }>(`select count(*)::int as n from ${from}`));
  return row?.n ?? 0;
}
