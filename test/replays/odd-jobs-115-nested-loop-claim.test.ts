/** odd-jobs #115: the planner takes a nested loop, and a claim of one job takes them all. */

import { systemIds } from '@headgate/domain';
import { claim, dispatchedItems, type Hinted } from '@headgate/store';
import { seedRun, seedTenant, seedWorker, type TestStore, testStore, withClient } from '@headgate/testkit';
import { beforeEach, describe, expect, it } from 'vitest';

const JOBS = 1_000;

/** As `seedRun` leaves them, in one statement: the run, its task and its item, copied under other ids. */
async function copies(db: TestStore, runId: string): Promise<void> {
  await withClient(db.urls.serviceUrl, async (client) => {
    await client.query('begin');
    await client.query(
      `create temporary table twin on commit drop as
         select headgate.uuid7() as run_id, headgate.uuid7() as task_id, n from generate_series(2, $1) as n`,
      [JOBS],
    );
    const columnsOf = async (table: string, without: readonly string[]): Promise<string> => {
      const { rows } = await client.query<{ name: string }>(
        `select column_name as name from information_schema.columns
          where table_schema = 'headgate' and table_name = $1 and column_name <> all ($2)
            and is_generated = 'NEVER' order by ordinal_position`,
        [table, without],
      );
      return rows.map(({ name }) => name).join(', ');
    };
    const prefixed = (columns: string): string => columns.replace(/(\w+)/g, 'o.$1');
    const task = await columnsOf('task', ['id', 'key_hash', 'work_key']);
    await client.query(
      `insert into headgate.task (id, key_hash, work_key, ${task})
       select t.task_id, sha256(convert_to('copy ' || t.n, 'UTF8')), 'copy ' || t.n, ${prefixed(task)}
         from twin t, headgate.run r join headgate.task o on o.id = r.task_id where r.id = $1`,
      [runId],
    );
    for (const table of ['run', 'queue_item']) {
      const id = table === 'run' ? 'id' : 'run_id';
      const rest = await columnsOf(table, [id, 'task_id']);
      await client.query(
        `insert into headgate.${table} (${id}, task_id, ${rest})
         select t.run_id, t.task_id, ${prefixed(rest)} from twin t, headgate.${table} o where o.${id} = $1`,
        [runId],
      );
    }
    await client.query('commit');
  });
}

describe('replay: odd-jobs #115', () => {
  let db: TestStore;
  beforeEach(async () => {
    db = await testStore();
    await withClient(db.urls.ownerUrl, async (owner) => {
      for (const method of ['hashjoin', 'mergejoin', 'hashagg', 'sort', 'material', 'memoize']) {
        await owner.query(`alter database ${db.urls.name} set enable_${method} = off`);
      }
      await owner.query(`alter database ${db.urls.name} set plan_cache_mode = force_generic_plan`);
    });
  });

  it(`Q13: with nested loops forced, a claim of one among ${JOBS} dispatched items takes one`, async () => {
    const tenant = await seedTenant(db);
    const first = await seedRun(db, { tenant });
    await copies(db, first.runId);
    const workerId = await seedWorker(db, { queueIds: [tenant.queueId] });
    const { rows } = await withClient(db.urls.serviceUrl, (client) =>
      client.query<{ runId: Hinted['runId'] }>(
        'select run_id as "runId" from headgate.queue_item order by run_id',
      ),
    );
    expect(rows).toHaveLength(JOBS);
    const ids = rows.map(({ runId }) => runId);
    const marked = await db.service.transaction((c) => dispatchedItems.mark(c, ids));
    const hinted = marked.map(({ runId, dispatchNo }) => ({
      runId,
      dispatchNo,
      attemptId: systemIds.next('att'),
      leaseId: systemIds.next('lease'),
      judgedAgoMs: 0,
    }));
    const result = await claim(db.service, {
      workerId,
      queueIds: [tenant.queueId],
      ttlMs: 60_000,
      policyVersion: tenant.policyVersion,
      hinted,
      limit: 1,
      verdictMaxAgeMs: 600_000,
    });
    expect(result.kind === 'claimed' && result.runs).toHaveLength(1);
    const counted = await withClient(db.urls.serviceUrl, (client) =>
      client.query<{ leases: number; items: number }>(
        `select (select count(*) from headgate.lease)::int as leases,
                (select count(*) from headgate.queue_item where state = 'dispatched')::int as items`,
      ),
    );
    expect(counted.rows[0]).toEqual({ leases: 1, items: JOBS - 1 });
  }, 120_000);
});
