/** The loader against the real schema: rows written by hand, read back as the checker's words. */
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadFinalState, takeSnapshot, testDatabase } from '../src/index.js';

const id = (n: number): string => `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const TASK = id(1);
const RUN = id(2);
const RECEIPT = id(3);
const ATTEMPT = id(4);
const LEASE = id(5);
const WORKER = id(6);
const OTHER_TASK = id(7);
const WAITING_RUN = id(8);

let client: Client;
beforeAll(async () => {
  const database = await testDatabase();
  client = new Client({ connectionString: database.serviceUrl });
  await client.connect();
  await fill(client);
});
afterAll(() => client.end());

/** One run under a lease, one that waits in the queue. */
async function fill(db: Client): Promise<void> {
  const route = (key: string, limit: number) => ({
    id: key,
    tenant: 'default',
    concurrency: { key: 'k', limit },
  });
  const policy = JSON.stringify({ routes: [route('one', 1), route('many', 3)] });
  await db.query(`insert into headgate.tenant (key) values ('default')`);
  await db.query(`insert into headgate.policy_version (digest, policy, actor) values ('d', $1, 'test')`, [
    policy,
  ]);
  await db.query(
    `insert into headgate.task (id, tenant_id, key_hash, work_key) values ($1, 1, sha256('a'), 'a:b'), ($2, 1, sha256('b'), '*')`,
    [TASK, OTHER_TASK],
  );
  await db.query(
    `insert into headgate.receipt (id, tenant_id, kind, outcome, reason_code, message, rule, trigger, via, source, event_id,
       type, received_at, policy_version, task_id, run_id, generation, input_version)
     values ($1, 1, 'decision', 'accept', 'ADMITTED', 'm', 'r', 'event', 'webhook', 's', 'e', 't', clock_timestamp(), 1, $2, $3, 1, 'v1')`,
    [RECEIPT, TASK, RUN],
  );
  await db.query(
    `insert into headgate.delivery (source_id, event_id, tenant_id, receipt_id, expires_at)
     values ('s', 'e', 1, $1, clock_timestamp() + interval '1 hour')`,
    [RECEIPT],
  );
  const addRun = `
    insert into headgate.run (id, tenant_id, task_id, receipt_id, generation, publication, input_version, route, mode, agent,
      queue, source, risk, priority, policy_version, concurrency_key, spec, status, reason_code)
    values ($1, 1, $2, $3, 1, 1, 'v1', $4, 'act', 'a', 'q', 's', 'LOW', 0, 1, 'shared', $5, 'QUEUED', 'ADMITTED')`;
  await db.query(addRun, [RUN, TASK, RECEIPT, 'one', { onNewVersion: 'cancelOther' }]);
  await db.query(addRun, [WAITING_RUN, OTHER_TASK, RECEIPT, 'many', { onNewVersion: 'allow' }]);
  await db.query(
    `insert into headgate.run_event (id, tenant_id, run_id, type, to_status) values (headgate.uuid7(), 1, $1, 'run.queued', 'QUEUED')`,
    [RUN],
  );
  await db.query(
    `insert into headgate.run_event (id, tenant_id, run_id, type, from_status, to_status, attempt_no, data)
     values (headgate.uuid7(), 1, $1, 'run.claimed', 'QUEUED', 'CLAIMED', 1, $2)`,
    [RUN, { leaseId: LEASE, fencingToken: '7' }],
  );
  await db.query(
    `update headgate.run set status = 'CLAIMED', attempt_no = 1, started_at = clock_timestamp() where id = $1`,
    [RUN],
  );
  await db.query(
    `insert into headgate.attempt (id, tenant_id, run_id, number, worker_id, lease_id, fencing_token, started_at)
     values ($1, 1, $2, 1, $3, $4, 7, '2026-01-02T03:04:05.678901Z')`,
    [ATTEMPT, RUN, WORKER, LEASE],
  );
  await db.query(
    `insert into headgate.lease (run_id, tenant_id, attempt_id, worker_id, fencing_token, lease_id, task_id, dispatch_no, acquired_at,
       expires_at, renew_until, task_type_id, risk, queue_id, agent_id)
     values ($1, 1, $2, $3, 7, $4, $5, 1, clock_timestamp(), '2026-01-02T03:05:05Z', clock_timestamp(), 1, 1, 1, 1)`,
    [RUN, ATTEMPT, WORKER, LEASE, TASK],
  );
  await db.query(
    `insert into headgate.queue_item (run_id, tenant_id, state, visible_at, rank_at, enqueued_at, task_id, exclusive_task,
       task_type_id, risk, queue_id, agent_id)
     values ($1, 1, 'delayed', clock_timestamp(), clock_timestamp(), clock_timestamp(), $2, false, 1, 1, 1, 1)`,
    [WAITING_RUN, OTHER_TASK],
  );
  await db.query(
    `insert into headgate.operation (id, tenant_id, key_hash, key, kind, state, run_id, task_id, fencing_token, lease_id, intent)
     values ($1, 1, sha256('k'), 'k', 'push', 'intended', $2, $3, 7, $4, '{}')`,
    [id(9), RUN, TASK, LEASE],
  );
  await db.query(
    `insert into headgate.task_version (task_id, generation, version_hash, tenant_id, input_version, run_id)
     values ($1, 1, substring(sha256('v1') for 16), 1, 'v1', $2)`,
    [TASK, RUN],
  );
  await db.query(
    `insert into headgate.worker (id, name, state, capabilities, queue_ids, slots, lease_ttl_ms, host, pid, version)
     values ($1, 'w', 'READY', '{}', '{}', 4, 60000, 'h', 1, '0')`,
    [WORKER],
  );
}

describe('loading the final state', () => {
  it('reads each table in the checker’s words, with microseconds and whole tokens', async () => {
    const state = await loadFinalState(client);
    expect(state.runs.map((run) => [run.id, run.status, run.workKey, run.attemptNo, run.reasonCode])).toEqual(
      [
        [RUN, 'CLAIMED', 'a:b', 1, 'ADMITTED'],
        [WAITING_RUN, 'QUEUED', '*', 0, 'ADMITTED'],
      ],
    );
    expect(state.attempts).toEqual([
      {
        id: ATTEMPT,
        runId: RUN,
        number: 1,
        workerId: WORKER,
        leaseId: LEASE,
        fencingToken: '7',
        status: 'running',
        startedAtMs: Date.parse('2026-01-02T03:04:05.678Z') + 0.901,
        finishedAtMs: null,
      },
    ]);
    expect(state.leases).toEqual([
      {
        runId: RUN,
        attemptId: ATTEMPT,
        leaseId: LEASE,
        fencingToken: '7',
        expiresAtMs: Date.parse('2026-01-02T03:05:05Z'),
      },
    ]);
    expect(state.queueItems).toMatchObject([{ runId: WAITING_RUN, state: 'delayed' }]);
    expect(state.receipts).toEqual([
      {
        id: RECEIPT,
        kind: 'decision',
        outcome: 'accept',
        reasonCode: 'ADMITTED',
        parentReceiptId: null,
        taskId: TASK,
        runId: RUN,
        generation: 1,
        inputVersion: 'v1',
      },
    ]);
    expect(state.deliveries).toEqual([{ sourceId: 's', eventId: 'e', receiptId: RECEIPT }]);
    expect(state.operations).toMatchObject([
      { key: 'k', runId: RUN, state: 'intended', attemptedAtMs: null },
    ]);
    expect(state.taskVersions).toEqual([
      { taskId: TASK, generation: 1, inputVersion: 'v1', runId: RUN, outcome: null },
    ]);
    expect(state.workers).toEqual([{ id: WORKER, slots: 4 }]);
    expect(Math.abs(state.nowAtMs - Date.now())).toBeLessThan(3_600_000);
  });

  it('reads the events of a run in order, with the lease a claim names in its data', async () => {
    const { runEvents, eventOrder } = await loadFinalState(client);
    expect(
      runEvents.map(({ from, to, leaseId, fencingToken, attemptNo }) => ({
        from,
        to,
        leaseId,
        fencingToken,
        attemptNo,
      })),
    ).toEqual([
      { from: null, to: 'QUEUED', leaseId: null, fencingToken: null, attemptNo: null },
      { from: 'QUEUED', to: 'CLAIMED', leaseId: LEASE, fencingToken: '7', attemptNo: 1 },
    ]);
    expect(['commit', 'xid']).toContain(eventOrder);
    expect(new Set(runEvents.map((event) => event.xid)).size).toBe(2);
  });

  it('reads events in the order of their transactions, as numbers', async ({ skip }) => {
    for (const xid of ['1000', '999']) {
      await client.query(
        'insert into headgate.run_event (id, tenant_id, run_id, type, xid) values (headgate.uuid7(), 1, $1, $2, $3)',
        [WAITING_RUN, 'run.noted', xid],
      );
    }
    const { runEvents, eventOrder } = await loadFinalState(client);
    skip(eventOrder === 'commit', 'this server knows when each transaction committed');
    const order = runEvents.filter((event) => event.runId === WAITING_RUN).map((event) => event.xid);
    expect(order).toEqual(['999', '1000']);
  });

  it('INV-LE8: knows what a run excludes: its task, and its key where the limit was 1', async () => {
    const { runs } = await loadFinalState(client);
    expect(runs.map((run) => run.exclusiveKeys)).toEqual([[`task ${TASK}`, 'key 1 shared'], []]);
  });

  it('takes a snapshot of where each run is', async () => {
    const snapshot = await takeSnapshot(client);
    expect(snapshot.runs).toEqual([
      { runId: RUN, status: 'CLAIMED', reasonCode: 'ADMITTED', hasLease: true, item: null },
      { runId: WAITING_RUN, status: 'QUEUED', reasonCode: 'ADMITTED', hasLease: false, item: 'delayed' },
    ]);
    expect(snapshot.atMs).toBeGreaterThan(0);
  });

  it('leaves no transaction open, also after a fault', async () => {
    const query = client.query.bind(client);
    const failing = new Proxy(client, {
      get: (target, name) =>
        name === 'query'
          ? (text: string) => (text.includes('headgate.worker') ? query('select 1/0') : query(text))
          : Reflect.get(target, name),
    });
    await expect(loadFinalState(failing)).rejects.toThrow('division by zero');
    const { rows } = await client.query(
      'select pg_current_xact_id_if_assigned() as xid, now() = statement_timestamp() as fresh',
    );
    expect(rows).toEqual([{ xid: null, fresh: true }]);
  });
});
