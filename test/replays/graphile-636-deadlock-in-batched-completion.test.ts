/** graphile-worker #636: one transient deadlock while many jobs are completed together ends the whole pool. */
import { type AttemptOutcome, finish } from '@headgate/store';
import {
  claimRun,
  eventually,
  type SeededLease,
  seedRuns,
  seedTenant,
  seedWorker,
  type TestStore,
  testStore,
  withClient,
} from '@headgate/testkit';
import { beforeEach, describe, expect, it } from 'vitest';

const SUCCEEDED: AttemptOutcome = { kind: 'succeeded', reasonCode: 'SUCCEEDED' };

async function someoneWaits(db: TestStore): Promise<boolean> {
  const [row] = await db.service.use((c) =>
    c.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    ),
  );
  return (row?.n ?? 0) > 0;
}

describe('replay: graphile-worker #636', () => {
  let db: TestStore;
  let leases: readonly SeededLease[];

  beforeEach(async () => {
    db = await testStore();
    const tenant = await seedTenant(db);
    const workerId = await seedWorker(db, { queueIds: [tenant.queueId] });
    const claimed: SeededLease[] = [];
    for (const run of await seedRuns(db, 6, { tenant })) claimed.push(await claimRun(db, run, { workerId }));
    leases = claimed;
  });

  const handIn = (list: readonly SeededLease[]) =>
    finish(
      db.service,
      list.map(({ fence, attemptId, workerId }) => ({
        fence,
        attemptId,
        result: SUCCEEDED,
        costUsd: 0,
        evidence: null,
        actor: `worker:${workerId}`,
      })),
      () => 0.5,
    );

  it('SQL rule 8: a batch that meets a deadlock is tried again as a whole, and the pool lives', async () => {
    const batch = leases.slice(0, 4);
    const [first, second] = batch;
    if (first === undefined || second === undefined) throw new Error('there is no batch');
    // The rival locks against the order: a run first, then a lease that the batch holds by then.
    const { finishing, rivalFault } = await withClient(db.urls.serviceUrl, async (rival) => {
      await rival.query('begin');
      await rival.query('select 1 from headgate.run where id = $1 for update', [second.fence.runId]);
      const underWay = handIn(batch);
      await eventually(() => someoneWaits(db), { what: 'the batch waits for the rival', deadlineMs: 30_000 });
      // Now each waits for the other; Postgres ends one of them.
      const fault = await rival
        .query('select 1 from headgate.lease where run_id = $1 for update', [first.fence.runId])
        .then(
          () => null,
          (thrown: { readonly code?: string }) => thrown.code ?? 'unknown',
        );
      await rival.query('rollback');
      return { finishing: underWay, rivalFault: fault };
    });
    expect([null, '40P01']).toContain(rivalFault);

    const answers = await finishing;
    expect([...answers.values()].map((answer) => answer.kind)).toEqual(batch.map(() => 'finished'));
    await eventually(
      async () => {
        const rows = await db.service.use((c) =>
          c.query<{ n: number }>(
            'select deadlocks::int as n from pg_stat_database where datname = current_database()',
          ),
        );
        return (rows[0]?.n ?? 0) === 1;
      },
      { what: 'Postgres counts the one deadlock', deadlineMs: 30_000 },
    );
    // The pool goes on: what came after is handed in as well, once.
    const rest = await handIn(leases.slice(4));
    expect([...rest.values()].map((answer) => answer.kind)).toEqual(['finished', 'finished']);
    const left = await db.service.use((c) =>
      c.query<{ runs: number; leases: number }>(
        `select (select count(*) from headgate.run where status = 'SUCCEEDED')::int as runs,
                (select count(*) from headgate.lease)::int as leases`,
      ),
    );
    expect(left[0]).toEqual({ runs: leases.length, leases: 0 });
  }, 90_000);
});
