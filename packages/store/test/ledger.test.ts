import { systemIds } from '@headgate/domain';
import { ledgerConformance } from '@headgate/effects/conformance';
import { cancelRun, createLedger, operations, reap } from '@headgate/store';
import {
  claimRun,
  expireLease,
  finishRun,
  seedRun,
  seedTenant,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { rows } from './rows.js';
import { holdRows, sessionsWait } from './sessions.js';

const ledgerOf = (db: TestStore, tenantId: number) =>
  createLedger(db.service, { tenantId, ids: systemIds, actor: 'applier' });

describe('the operation ledger over Postgres, as every ledger', () => {
  let db: TestStore;
  beforeAll(async () => {
    db = await testStore();
  });

  /** Each case has a tenant of its own: keys are the tenant's. */
  let cases = 0;
  const fixture = async () => {
    cases += 1;
    const tenant = await seedTenant(db, { key: `tenant-${cases}` });
    const run = await seedRun(db, { tenant });
    const { fence } = await claimRun(db, run);
    return {
      ledger: ledgerOf(db, tenant.id),
      fence,
      takeOver: async () => {
        await expireLease(db, run.runId);
        await reap(db.service, { limit: 100, graceMs: 1, random: () => 0, actor: 'reaper' });
        await rows(db, "update headgate.queue_item set state = 'ready', waits = null where run_id = $1", [
          run.runId,
        ]);
        return (await claimRun(db, run)).fence;
      },
      expireLease: () => expireLease(db, run.runId),
      cancelRun: async () => {
        await cancelRun(db.service, run.runId, { actor: 'mona', reason: null });
      },
      close: async () => {},
    };
  };

  for (const { name, run } of ledgerConformance(fixture)) test(name, run);
});

describe('the operation ledger over Postgres', () => {
  let db: TestStore;
  beforeEach(async () => {
    db = await testStore();
  });
  const intent = { ref: 'refs/heads/x', commitSha: 'a' };

  test('each step leaves its event, and the row its times', async () => {
    const run = await seedRun(db);
    const { fence } = await claimRun(db, run);
    const ledger = ledgerOf(db, run.tenant.id);
    await ledger.intend({ key: 'k', kind: 'push', fence, intent });
    await ledger.attempt({ key: 'k', fence });
    await ledger.ambiguous({ key: 'k', tries: 1, detail: 'time-out\u0000' });
    await ledger.absent({ key: 'k', tries: 1, evidence: { ref: 'gone' }, settleMs: 0 });
    await ledger.attempt({ key: 'k', fence });
    await ledger.confirm({ key: 'k', evidence: { sha: 'a' }, externalId: 'x@a', url: 'file:///x' });
    const told = await rows(
      db,
      "select type, actor from headgate.run_event where type like 'operation.%' order by id",
    );
    expect(told).toEqual(
      ['intended', 'attempted', 'ambiguous', 'absent', 'attempted', 'confirmed'].map((step) => ({
        type: `operation.${step}`,
        actor: 'applier',
      })),
    );
    expect(
      await rows(
        db,
        `select state, tries, detail, external_id, url, evidence, settled_at is not null as settled,
                lease_id = $1 as "isOurs" from headgate.operation`,
        [fence.leaseId],
      ),
    ).toEqual([
      {
        state: 'confirmed',
        tries: 2,
        detail: 'time-out\ufffd',
        external_id: 'x@a',
        url: 'file:///x',
        evidence: { sha: 'a' },
        settled: true,
        isOurs: true,
      },
    ]);
  });

  test('INV-TE1: the lease of another tenant is no fence, and the same key of two tenants are two operations', async () => {
    const [ours, theirs] = [await seedTenant(db, { key: 'a' }), await seedTenant(db, { key: 'b' })];
    const [mine, other] = [
      await claimRun(db, await seedRun(db, { tenant: ours })),
      await claimRun(db, await seedRun(db, { tenant: theirs })),
    ];
    const intend = (tenantId: number, fence: typeof mine.fence) =>
      ledgerOf(db, tenantId).intend({ key: 'k', kind: 'push', fence, intent });
    expect(await intend(ours.id, other.fence)).toEqual({ kind: 'fence-lost' });
    expect(await intend(ours.id, mine.fence)).toMatchObject({ kind: 'intended' });
    expect(await intend(theirs.id, other.fence)).toMatchObject({ kind: 'intended' });
  });

  test('Q25: intents of one key that come at once make one operation', async () => {
    const run = await seedRun(db);
    const { fence } = await claimRun(db, run);
    const ledger = ledgerOf(db, run.tenant.id);
    const results = await Promise.all(
      [1, 2, 3, 4].map((n) => ledger.intend({ key: 'k', kind: 'push', fence, intent: { ...intent, n } })),
    );
    expect(results.map((result) => result.kind).toSorted()).toEqual([
      'existing',
      'existing',
      'existing',
      'intended',
    ]);
    const ids = results.map((result) => ('operation' in result ? result.operation.id : null));
    expect(new Set(ids).size).toBe(1);
  });

  test('INV-ST2: a cancel that commits while an intent waits for the run refuses the intent', async () => {
    const run = await seedRun(db);
    const { fence } = await claimRun(db, run);
    const held = await holdRows(db, 'select 1 from headgate.run where id = $1 for update', [run.runId]);
    const cancelled = cancelRun(db.service, run.runId, { actor: 'mona', reason: null });
    await sessionsWait(db);
    const intended = ledgerOf(db, run.tenant.id).intend({ key: 'k', kind: 'push', fence, intent });
    await sessionsWait(db, 2);
    await held.release();
    expect(await cancelled).toMatchObject({ result: 'requested' });
    expect(await intended).toEqual({ kind: 'cancelled' });
    expect(await rows(db, 'select 1 from headgate.operation')).toEqual([]);
  });

  test('INV-EF3: unknown operations of ended runs are handed to one reconciler at a time; of live runs to none', async () => {
    const [ended, live] = [await seedRun(db), await seedRun(db)];
    const ledger = ledgerOf(db, ended.tenant.id);
    for (const run of [ended, live]) {
      const lease = await claimRun(db, run);
      await ledger.intend({ key: run.runId, kind: 'push', fence: lease.fence, intent });
      await ledger.attempt({ key: run.runId, fence: lease.fence });
      if (run === ended)
        await finishRun(db, lease, {
          kind: 'failed',
          reasonCode: 'SETUP_FAILED',
          detail: null,
          retryAfterMs: null,
        });
    }
    const unsettled = () => db.service.use((c) => operations.unsettled(c, 60_000, 10));
    expect(await unsettled()).toMatchObject([
      { key: ended.runId, state: 'attempted', tries: 1, tenantId: ended.tenant.id, taskId: ended.taskId },
    ]);
    expect(await unsettled()).toEqual([]);
  });

  test('a report about a key that nobody intended is a fault, not an answer', async () => {
    const { id } = await seedTenant(db);
    const ledger = ledgerOf(db, id);
    await expect(ledger.ambiguous({ key: 'none', tries: 1, detail: 'x' })).rejects.toThrow(
      /intend comes first/,
    );
  });
});
