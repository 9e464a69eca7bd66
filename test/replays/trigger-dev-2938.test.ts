/** trigger.dev #2938: the database stops between the message and the lease; the message is spent, the run is stuck. */
import { systemIds } from '@headgate/domain';
import { claim, openDatabase, placementViolations } from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import {
  atEnd,
  dispatchRun,
  eventually,
  finishRun,
  privatePostgres,
  seedRun,
  seedTenant,
  seedWorker,
  type TestStore,
} from '@headgate/testkit';
import { expect, test } from 'vitest';

test('Q2, Q4: Postgres dies between hint and lease: nothing is lost, no attempt is charged, the same hint serves again', async () => {
  const postgres = await privatePostgres();
  const database = openDatabase({
    serviceUrl: postgres.serviceUrl,
    apiUrl: postgres.apiUrl,
    applicationName: 'test',
    logger: createLogger('test', { level: 'silent' }),
  });
  atEnd(() => database.close());
  const db: TestStore = { ...database, urls: { ...postgres, name: 'headgate', drop: async () => {} } };
  const tenant = await seedTenant(db);
  const workerId = await seedWorker(db, { queueIds: [tenant.queueId] });
  const run = await seedRun(db, { tenant });
  const hint = { runId: run.runId, dispatchNo: await dispatchRun(db, run) };
  const claimHinted = async () => {
    return claim(db.service, {
      workerId,
      queueIds: [tenant.queueId],
      ttlMs: 60_000,
      policyVersion: tenant.policyVersion,
      hinted: [
        { ...hint, attemptId: systemIds.next('att'), leaseId: systemIds.next('lease'), judgedAgoMs: 0 },
      ],
      limit: 1,
      verdictMaxAgeMs: 30_000,
    });
  };

  await postgres.server.kill9();
  await expect(claimHinted()).rejects.toThrow();
  await postgres.server.restart();
  await eventually(() => db.service.use((c) => c.query('select 1')), { what: 'Postgres answers again' });

  const read = () =>
    db.service.use((c) =>
      c.query(
        `select r.status, r.attempt_no as attempts,
                r.failures_application + r.failures_infrastructure + r.failures_lease_lost as charged,
                q.state as item, q.dispatch_no as "dispatchNo"
           from headgate.run r left join headgate.queue_item q on q.run_id = r.id`,
      ),
    );
  const { dispatchNo } = hint;
  expect(await read()).toEqual([
    { status: 'QUEUED', attempts: 0, charged: 0, item: 'dispatched', dispatchNo },
  ]);
  const claimed = await claimHinted();
  const mine = claimed.kind === 'claimed' ? claimed.runs[0] : undefined;
  if (mine === undefined) throw new Error(`nothing was claimed: ${claimed.kind}`);
  const { runId, fencingToken, leaseId, attemptId, attemptNo } = mine;
  const lease = { fence: { runId, fencingToken, leaseId }, attemptId, leaseId, workerId, attemptNo };
  expect(await finishRun(db, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' })).toMatchObject({
    kind: 'finished',
  });
  expect(await read()).toEqual([
    { status: 'SUCCEEDED', attempts: 1, charged: 0, item: null, dispatchNo: null },
  ]);
  expect(await db.service.use((c) => placementViolations(c))).toEqual([]);
});
