/**
 * Very many runs at once, by a handful of set-based statements: 100 000 in a few seconds. The rows are those that
 * admission, claim and finish would have left; ids and ranks grow by a millisecond from one run to the next.
 */
import type { RunSpec, WorkerId } from '@headgate/domain';
import type { Client } from 'pg';
import type { SeededTenant } from '../builders/tenant.js';
import { withClient } from '../services/prepare-template.js';

export interface BacklogGroup {
  /** Dealt out in turn. */
  readonly tenantIds: readonly number[];
  readonly runs: number;
  readonly state: 'ready' | 'delayed' | 'dispatched' | 'leased' | 'ended';
  /** How long ago the first one was admitted. */
  readonly agoMs: number;
  /** How long ago the delayed ones became due, the dispatched ones were dispatched; negative: in the future. */
  readonly dueAgoMs?: number;
  readonly concurrency?: { readonly key: Buffer; readonly limit: number };
  /** Of the leased ones. */
  readonly workerId?: WorkerId;
  /** Deliveries, receipts and events too. Default true; without them it takes half the time. */
  readonly history?: boolean;
}

export interface BacklogOptions {
  readonly ownerUrl: string;
  /** Whose policy, queue, agent and route the runs have. */
  readonly like: SeededTenant;
  readonly spec: RunSpec;
}

/** Postgres looks at 300 rows for each: 150 000. */
const STATISTICS_TARGET = 500;

/** Makes tenants beside the seeded one and returns their ids. */
export const seedTenants = (ownerUrl: string, count: number): Promise<readonly number[]> =>
  withClient(ownerUrl, async (owner) => {
    const { rows } = await owner.query<{ id: number }>(
      `insert into headgate.tenant (key) select 'backlog-' || n from generate_series(1, $1::int) n returning id`,
      [count],
    );
    return rows.map(({ id }) => id);
  });

export async function seedBacklog(options: BacklogOptions, groups: readonly BacklogGroup[]): Promise<void> {
  await withClient(options.ownerUrl, async (owner) => {
    for (const group of groups) {
      await owner.query('begin');
      // Runs are made in statuses that no run is born in.
      await owner.query('alter table headgate.run disable trigger run_transition');
      await makeGroup(owner, options, group);
      await owner.query('alter table headgate.run enable trigger run_transition');
      await owner.query('commit');
    }
    // Of every row, not of a sample: a few hundred dispatched among 100 000 waiting were seen or missed by chance, and
    // the plans with them.
    await owner.query(`set default_statistics_target = ${STATISTICS_TARGET}`);
    await owner.query(
      'analyze headgate.queue_item, headgate.lease, headgate.run, headgate.task, headgate.task_version, headgate.attempt, headgate.receipt, headgate.run_event, headgate.delivery',
    );
  });
}

const STATUS: Readonly<Record<BacklogGroup['state'], string>> = {
  ready: 'QUEUED',
  delayed: 'QUEUED',
  dispatched: 'QUEUED',
  leased: 'RUNNING',
  ended: 'SUCCEEDED',
};

async function makeGroup(owner: Client, options: BacklogOptions, group: BacklogGroup): Promise<void> {
  await drawIds(owner, group);
  await makeWork(owner, options, group);
  if (group.state === 'leased' || group.state === 'ended') await makeAttempts(owner, options, group);
  if (group.state === 'leased') await makeLeases(owner, options, group);
  else if (group.state !== 'ended') await makeItems(owner, options, group);
  if (group.history !== false) await makeHistory(owner, options, group);
}

/** UUIDv7 of the row's own moment; a kind each, so that a run, its task and its receipt differ. */
const idOf = (kind: string): string =>
  `(lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n & 4095), 3, '0')
     || '8' || substr(md5('${kind}' || n || $1), 1, 15))::uuid`;

async function drawIds(owner: Client, group: BacklogGroup): Promise<void> {
  await owner.query(
    `create temp table seed on commit drop as
     select n, at, tenant_id, ${idOf('run')} as run_id, ${idOf('task')} as task_id, ${idOf('receipt')} as receipt_id,
            ${idOf('attempt')} as attempt_id, ${idOf('lease')} as lease_id, 'backlog/' || $1 || '/' || n as work_key,
            encode(sha256(convert_to($1 || n, 'UTF8')), 'hex') as version
       from (select n, date_trunc('milliseconds', clock_timestamp()) + (n - $2::float8) * interval '1 millisecond' as at,
                    ($3::int[])[1 + n % cardinality($3::int[])] as tenant_id
               from generate_series(0, $4::int - 1) n) numbered`,
    [String(Math.random()), group.agoMs, group.tenantIds, group.runs],
  );
  await owner.query('analyze seed');
}

async function makeWork(owner: Client, { like, spec }: BacklogOptions, group: BacklogGroup): Promise<void> {
  await owner.query(
    `insert into headgate.task (id, tenant_id, key_hash, work_key, latest_version)
     select task_id, tenant_id, sha256(convert_to(work_key, 'UTF8')), work_key, version from seed`,
  );
  await owner.query(
    `insert into headgate.run
       (id, tenant_id, task_id, receipt_id, generation, publication, input_version, route, mode, agent, queue,
        repository_id, source, risk, priority, policy_version, spec, created_at, status, attempt_no, started_at,
        finished_at)
     select run_id, tenant_id, task_id, receipt_id, 1, 1, version, $1, $2, $3, 'default', $4, 'acme', 'LOW', 0, $5, $6, at,
            $7::headgate.run_status, case when $7 = 'QUEUED' then 0 else 1 end, case when $7 <> 'QUEUED' then at end,
            case when $7 = 'SUCCEEDED' then at end
       from seed`,
    [
      spec.route,
      spec.mode,
      spec.agent.id,
      like.repositoryId,
      like.policyVersion,
      JSON.stringify(spec),
      STATUS[group.state],
    ],
  );
  await owner.query(
    `insert into headgate.task_version (task_id, generation, version_hash, tenant_id, input_version, run_id, outcome)
     select task_id, 1, substr(sha256(convert_to(version, 'UTF8')), 1, 16), tenant_id, version, run_id,
            case when $1 = 'ended' then 'SUCCEEDED'::headgate.run_status end
       from seed`,
    [group.state],
  );
}

async function makeItems(owner: Client, { like }: BacklogOptions, group: BacklogGroup): Promise<void> {
  await owner.query(
    `insert into headgate.queue_item
       (run_id, tenant_id, state, waits, visible_at, rank_at, enqueued_at, dispatched_at, hinted_at, dispatch_no, task_id,
        exclusive_task, repository_id, task_type_id, risk, queue_id, agent_id, concurrency_key, concurrency_limit)
     select run_id, tenant_id, $1::headgate.item_state,
            case when $1 = 'delayed' then 'backoff'::headgate.item_wait end,
            case when $1 = 'delayed' then clock_timestamp() - $2 * interval '1 millisecond' else at end, at, at,
            case when $1 = 'dispatched' then clock_timestamp() - $2 * interval '1 millisecond' end,
            case when $1 = 'dispatched' then clock_timestamp() - $2 * interval '1 millisecond' end,
            case when $1 = 'dispatched' then 1 else 0 end, task_id, true, $3, $4, 0, $5, $6, $7, $8
       from seed order by n`,
    [
      group.state,
      group.dueAgoMs ?? 0,
      like.repositoryId,
      like.taskTypeId,
      like.queueId,
      like.agentId,
      group.concurrency?.key ?? null,
      group.concurrency?.limit ?? null,
    ],
  );
}

async function makeAttempts(owner: Client, _options: BacklogOptions, group: BacklogGroup): Promise<void> {
  await owner.query(
    `insert into headgate.attempt
       (id, tenant_id, run_id, number, worker_id, lease_id, fencing_token, status, started_at, finished_at)
     select attempt_id, tenant_id, run_id, 1, $1, lease_id, nextval('headgate.fencing_token'),
            case when $2 = 'leased' then 'running' else 'succeeded' end, at, case when $2 = 'ended' then at end
       from seed order by n`,
    [group.workerId ?? NOBODY, group.state],
  );
}

const NOBODY = '00000000-0000-7000-8000-000000000000';

async function makeLeases(owner: Client, { like }: BacklogOptions, group: BacklogGroup): Promise<void> {
  await owner.query(
    `insert into headgate.lease
       (run_id, tenant_id, attempt_id, worker_id, fencing_token, lease_id, task_id, exclusive_task_id, exclusive_key,
        acquired_at, expires_at, renew_until, dispatch_no, repository_id, task_type_id, risk, queue_id, agent_id,
        concurrency_key, concurrency_limit)
     select s.run_id, s.tenant_id, s.attempt_id, a.worker_id, a.fencing_token, s.lease_id, s.task_id, s.task_id,
            case when $6 = 1 then $5::bytea end, s.at, clock_timestamp() + interval '1 hour',
            clock_timestamp() + interval '2 hours', 1, $1, $2, 0, $3, $4, $5, $6
       from seed s join headgate.attempt a on a.id = s.attempt_id`,
    [
      like.repositoryId,
      like.taskTypeId,
      like.queueId,
      like.agentId,
      group.concurrency?.key ?? null,
      group.concurrency?.limit ?? null,
    ],
  );
}

async function makeHistory(
  owner: Client,
  { like, spec }: BacklogOptions,
  group: BacklogGroup,
): Promise<void> {
  await owner.query(
    `insert into headgate.delivery (source_id, event_id, tenant_id, receipt_id, expires_at)
     select 'acme', receipt_id::text, tenant_id, receipt_id, at + interval '7 days' from seed`,
  );
  await owner.query(
    `insert into headgate.receipt
       (id, tenant_id, kind, outcome, reason_code, message, rule, trigger, via, route, created_at, source, event_id, type,
        received_at, repository, work_key, input_version, generation, policy_version, task_id, run_id)
     select receipt_id, tenant_id, 'decision', 'accept', 'ADMITTED', 'The work was admitted and a run was made.',
            'work.new', 'event', 'webhook', $1, at, 'acme', receipt_id::text, 'github.check_run.completed', at,
            'acme/api', work_key, version, 1, $2, task_id, run_id
       from seed`,
    [spec.route, like.policyVersion],
  );
  await owner.query(
    `insert into headgate.task_signal (task_id, receipt_id, tenant_id, run_id)
     select task_id, receipt_id, tenant_id, run_id from seed`,
  );
  await owner.query(
    `insert into headgate.run_event (id, tenant_id, run_id, task_id, at, type, to_status, reason_code)
     select ${idOf('event')}, tenant_id, run_id, task_id, at, 'run.queued', $2::headgate.run_status, 'ADMITTED' from seed`,
    ['', STATUS[group.state]],
  );
}
