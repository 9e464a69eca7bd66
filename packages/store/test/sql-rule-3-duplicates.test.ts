import { hashWorkKey, systemIds } from '@headgate/domain';
import { type DeliveryRow, deliveries, isDataFault, type TaskKey, tasks } from '@headgate/store';
import { seedRun, seedTenant, type TestStore, testStore } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { serviceSession, sessionsWait } from './sessions.js';

const DAY_MS = 86_400_000;

const aDelivery = (tenantId: number, eventId: string, dedupeWindowMs = DAY_MS): DeliveryRow => ({
  sourceId: 'acme',
  eventId,
  tenantId,
  receiptId: systemIds.next('rcpt'),
  dedupeWindowMs,
});
const aKey = (tenantId: number, workKey: string): TaskKey => ({
  taskId: systemIds.next('task'),
  tenantId,
  keyHash: hashWorkKey(workKey),
  workKey,
});
const remember = (db: TestStore, rows: readonly DeliveryRow[]) =>
  db.service.transaction((c) => deliveries.remember(c, rows));

describe('SQL rule 3: insert, or return what is there', () => {
  test('a key twice in one statement is refused (21000), so a batch must be folded first', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const fault = await remember(db, [aDelivery(tenant.id, 'x'), aDelivery(tenant.id, 'x')]).catch((e) => e);
    expect(fault).toMatchObject({ code: '21000' });
    expect(isDataFault(fault)).toBe(true);
  });

  test('a task key twice in one batch makes one task, locked once', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const [one, two] = [aKey(tenant.id, '*'), aKey(tenant.id, '*')];
    const rows = await db.service.transaction((c) => tasks.lock(c, [one, two]));
    expect(new Set(rows.map((row) => row.id))).toEqual(new Set([one.taskId]));
  });

  test('replay (trigger.dev #4628): *, a:b, a space, emoji, combining marks and 2 KB are keys of their own', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const keys = ['*', 'a:b', 'a', ':b', ' ', '🚀', '🚀🚀', 'é', 'e\u0301', 'k'.repeat(2048)];
    const rows = await db.service.transaction((c) =>
      tasks.lock(
        c,
        keys.map((key) => aKey(tenant.id, key)),
      ),
    );
    expect(rows.map((row) => row.workKey).sort()).toEqual([...keys].sort());
    expect(new Set(rows.map((row) => row.id)).size).toBe(keys.length);
  });

  test('the task that another transaction makes meanwhile is waited for and returned', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const theirs = aKey(tenant.id, '42/pr/7');
    const session = await serviceSession(db);
    await session.query('begin');
    await session.query(
      'insert into headgate.task (id, tenant_id, key_hash, work_key) values ($1, $2, $3, $4)',
      [theirs.taskId, theirs.tenantId, theirs.keyHash, theirs.workKey],
    );
    const mine = db.service.transaction((c) => tasks.lock(c, [aKey(tenant.id, '42/pr/7')]));
    await sessionsWait(db);
    await session.query('commit');
    expect((await mine).map((row) => row.id)).toEqual([theirs.taskId]);
  });

  test('broken variant: in the same statement the row of the other transaction is not seen', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const [session, other] = [await serviceSession(db), await serviceSession(db)];
    const insert = `insert into headgate.task (id, tenant_id, key_hash, work_key)
      values (gen_random_uuid(), $1, $2, 'k') on conflict do nothing returning id`;
    const values = [tenant.id, hashWorkKey('k')];
    await other.query('begin');
    await other.query(insert, values);
    const answer = session.query(
      `with made as (${insert}) select id from made
       union all select id from headgate.task where tenant_id = $1 and key_hash = $2`,
      values,
    );
    await sessionsWait(db);
    await other.query('commit');
    expect((await answer).rows).toEqual([]);
  });

  test('I8: a delivery is new once; the second is told of the first, its receipt and its run', async () => {
    const db = await testStore();
    const run = await seedRun(db, { receipt: { source: 'acme', eventId: 'guid-1' } });
    const again = aDelivery(run.tenant.id, 'guid-1');
    const { fresh, first } = await db.service.transaction(async (c) => ({
      fresh: await deliveries.remember(c, [again]),
      first: await deliveries.first(c, [again]),
    }));
    expect(fresh.size).toBe(0);
    expect(first.get('acme\u0000guid-1')).toEqual({
      receiptId: run.receiptId,
      runId: run.runId,
      taskId: run.taskId,
    });
  });

  test('I8: a delivery whose window has passed is new again; one inside it keeps its receipt', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const [old, kept] = [aDelivery(tenant.id, 'old', -1), aDelivery(tenant.id, 'kept')];
    await remember(db, [old, kept]);
    const [oldAgain, keptAgain] = [aDelivery(tenant.id, 'old'), aDelivery(tenant.id, 'kept')];
    expect(await remember(db, [oldAgain, keptAgain])).toEqual(new Set(['acme\u0000old']));
    const receiptIds = await db.service.use((c) =>
      c.query('select event_id, receipt_id from headgate.delivery order by event_id'),
    );
    expect(receiptIds).toEqual([
      { event_id: 'kept', receipt_id: kept.receiptId },
      { event_id: 'old', receipt_id: oldAgain.receiptId },
    ]);
  });

  test('forgetting takes what has expired, up to its limit, and nothing else', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    await remember(db, [
      aDelivery(tenant.id, 'a', -1),
      aDelivery(tenant.id, 'b', -1),
      aDelivery(tenant.id, 'c'),
    ]);
    const forget = (limit: number) => db.service.use((c) => deliveries.forgetExpired(c, limit));
    expect(await forget(1)).toBe(1);
    expect(await forget(10)).toBe(1);
    expect(await forget(10)).toBe(0);
  });
});
