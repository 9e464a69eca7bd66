/** Runs: pages, one with everything about it, and the rows that other answers hold. */
import {
  type AttemptId,
  type EventId,
  formatId,
  hashWorkKey,
  type LeaseId,
  type PublicStatus,
  parseId,
  publicStatus,
  type ReasonCode,
  type ReceiptId,
  RUN_STATUSES,
  type RunId,
  type RunStatus,
  type TaskId,
  type WorkerId,
} from '@headgate/domain';
import type {
  Page,
  Run,
  RunAttempt,
  RunDetail,
  RunEvent,
  RunLimitsAnswer,
  RunOperation,
  RunUsage,
} from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { type SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { runQuery } from '../schemas/index.js';
import { instantOf, instantOrNull } from './instants.js';
import { between, pageOf } from './page.js';
import { list, rows } from './read.js';
import type { WaitingReader } from './waiting.js';

export interface RunRow {
  readonly id: RunId;
  readonly taskId: TaskId;
  readonly receiptId: ReceiptId;
  readonly tenant: string;
  readonly route: string;
  readonly repository: string | null;
  readonly agent: string;
  readonly mode: Run['mode'];
  readonly workKey: string;
  readonly inputVersion: string;
  readonly generation: number;
  readonly status: RunStatus;
  readonly reasonCode: ReasonCode | null;
  readonly statusAt: Date;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly attemptNo: number;
  readonly branch: string | null;
  readonly queue: string;
  readonly priority: number;
  readonly concurrencyKey: string | null;
  readonly policyVersion: number;
  readonly limits: RunLimitsAnswer;
  readonly costUsd: number;
  readonly reservedUsd: number | null;
  readonly exceededAt: Date | null;
}

/** How a run names its repository: as it is called now. */
export const REPOSITORY_OF_RUN = sql.raw("coalesce(p.full_name, r.spec->'repository'->>'fullName')");

export const runRows = (c: Connection, ids: readonly RunId[]): Promise<RunRow[]> =>
  ids.length === 0
    ? Promise.resolve([])
    : rows<RunRow>(
        c,
        sql`select r.id, r.task_id as "taskId", r.receipt_id as "receiptId", t.key as tenant, r.route,
                   ${REPOSITORY_OF_RUN} as repository, r.agent, r.mode, k.work_key as "workKey",
                   r.input_version as "inputVersion", r.generation, r.status, r.reason_code as "reasonCode",
                   r.status_at as "statusAt", r.created_at as "createdAt", r.started_at as "startedAt",
                   r.finished_at as "finishedAt", r.attempt_no as "attemptNo", r.branch, r.queue, r.priority,
                   r.concurrency_key as "concurrencyKey", r.policy_version as "policyVersion",
                   r.spec->'limits' as limits, r.cost_usd as "costUsd",
                   coalesce(l.reserved_usd, q.reserved_usd) as "reservedUsd",
                   (select min(a.finished_at) from headgate.attempt a
                     where a.run_id = r.id and a.reason_code = 'COST_LIMIT') as "exceededAt"
              from headgate.run r
              join headgate.task k on k.id = r.task_id
              join headgate.tenant t on t.id = r.tenant_id
              left join headgate.repository p on p.id = r.repository_id
              left join headgate.lease l on l.run_id = r.id
              left join headgate.queue_item q on q.run_id = r.id
             where r.id = any (${list(ids, 'uuid')})
             order by r.id desc`,
      );

/** The newest attempt's evidence and the run's own row make the answer; what it waits for is read beside it. */
export async function runAnswers(
  c: Connection,
  waiting: WaitingReader,
  ids: readonly RunId[],
): Promise<Run[]> {
  const found = await runRows(c, ids);
  const reasons = await waiting(c, found);
  return found.map((row) => ({
    id: formatId('run', row.id),
    taskId: formatId('task', row.taskId),
    receiptId: formatId('rcpt', row.receiptId),
    tenant: row.tenant,
    route: row.route,
    repository: row.repository,
    agent: row.agent,
    mode: row.mode,
    workKey: row.workKey,
    inputVersion: row.inputVersion,
    generation: row.generation,
    status: row.status,
    publicStatus: publicStatus(row.status),
    reasonCode: row.reasonCode,
    statusAt: instantOf(row.statusAt),
    createdAt: instantOf(row.createdAt),
    startedAt: instantOrNull(row.startedAt),
    finishedAt: instantOrNull(row.finishedAt),
    attempt: row.attemptNo,
    branch: row.branch,
    queue: row.queue,
    priority: row.priority,
    concurrencyKey: row.concurrencyKey,
    policyVersion: row.policyVersion,
    limits: row.limits,
    cost: {
      estimatedUsd: row.reservedUsd,
      actualUsd: row.costUsd,
      maxUsd: row.limits.costUsd,
      exceededAt: instantOrNull(row.exceededAt),
    },
    waiting: reasons.get(row.id) ?? null,
  }));
}

export async function runPageOf(
  c: Connection,
  waiting: WaitingReader,
  query: z.infer<typeof runQuery>,
): Promise<Page<Run>> {
  const within: SQL[] = [...between(query.since, query.until)];
  if (query.taskId !== undefined) {
    const taskId = parseId('task', query.taskId);
    if (taskId === null) return { items: [], nextCursor: null };
    within.push(sql`x.task_id = ${taskId}::uuid`);
  }
  if (query.workKey !== undefined) {
    within.push(
      sql`x.task_id in (select k.id from headgate.task k
                         where k.key_hash = ${hashWorkKey(query.workKey)} and k.work_key = ${query.workKey})`,
    );
  }
  const filters: SQL[] = [];
  if (query.status !== undefined) filters.push(sql`x.status = ${query.status}::headgate.run_status`);
  if (query.publicStatus !== undefined) {
    filters.push(sql`x.status::text = any (${list(statusesOf(query.publicStatus), 'text')})`);
  }
  if (query.route !== undefined) filters.push(sql`x.route = ${query.route}`);
  if (query.repository !== undefined) {
    filters.push(
      sql`x.repository_id in (select p.id from headgate.repository p where p.full_name = ${query.repository})`,
    );
  }
  const { ids, nextCursor } = await pageOf<RunId>(c, {
    from: sql`headgate.run x`,
    within,
    filters,
    columns: ['status', 'route', 'repository_id'],
    limit: query.limit,
    cursor: query.cursor,
  });
  return { items: await runAnswers(c, waiting, ids), nextCursor };
}

const statusesOf = (wanted: PublicStatus): readonly RunStatus[] =>
  RUN_STATUSES.filter((status) => publicStatus(status) === wanted);

/** Null: no such run, or not the caller's. */
export async function runDetail(
  c: Connection,
  waiting: WaitingReader,
  runId: RunId,
): Promise<RunDetail | null> {
  const [run] = await runAnswers(c, waiting, [runId]);
  if (run === undefined) return null;
  return {
    ...run,
    attempts: await attemptsOf(c, runId),
    operations: await operationsOf(c, runId),
    usage: await usageOf(c, runId),
    events: await eventsOf(c, runId),
  };
}

async function attemptsOf(c: Connection, runId: RunId): Promise<RunAttempt[]> {
  const found = await rows<{
    id: AttemptId;
    number: number;
    workerId: WorkerId;
    leaseId: LeaseId;
    fencingToken: string;
    status: RunAttempt['status'];
    reasonCode: ReasonCode | null;
    startedAt: Date;
    finishedAt: Date | null;
    costUsd: number;
  }>(
    c,
    sql`select id, number, worker_id as "workerId", lease_id as "leaseId", fencing_token as "fencingToken", status,
               reason_code as "reasonCode", started_at as "startedAt", finished_at as "finishedAt",
               cost_usd as "costUsd"
          from headgate.attempt where run_id = ${runId}::uuid order by number`,
  );
  return found.map((row) => ({
    ...row,
    id: formatId('att', row.id),
    workerId: formatId('wkr', row.workerId),
    leaseId: formatId('lease', row.leaseId),
    startedAt: instantOf(row.startedAt),
    finishedAt: instantOrNull(row.finishedAt),
  }));
}

const operationsOf = (c: Connection, runId: RunId): Promise<RunOperation[]> =>
  rows<RunOperation>(
    c,
    sql`select key, kind, state as status, external_id as "externalId", url
          from headgate.operation where run_id = ${runId}::uuid order by intended_at, id`,
  );

async function usageOf(c: Connection, runId: RunId): Promise<RunUsage | null> {
  const [sum] = await rows<RunUsage & { reported: number }>(
    c,
    sql`select count(*)::int as reported, coalesce(array_agg(distinct model) filter (where model is not null), '{}') as models,
               coalesce(sum(input_tokens), 0)::float8 as "inputTokens",
               coalesce(sum(output_tokens), 0)::float8 as "outputTokens",
               coalesce(sum(tool_ms), 0)::float8 as "toolMs", coalesce(sum(cpu_ms), 0)::float8 as "cpuMs",
               coalesce(sum(artifact_bytes), 0)::float8 as "artifactBytes",
               coalesce(sum(provider_calls), 0)::float8 as "providerCalls",
               coalesce(sum(cost_usd), 0) as "costUsd"
          from headgate.usage where run_id = ${runId}::uuid`,
  );
  if (sum === undefined || sum.reported === 0) return null;
  const { reported: _reported, ...usage } = sum;
  return usage;
}

/** Events of one run shown at most; a run that has more keeps its newest. */
const MAX_EVENTS = 500;

async function eventsOf(c: Connection, runId: RunId): Promise<RunEvent[]> {
  const found = await rows<{
    id: EventId;
    at: Date;
    type: string;
    from: RunStatus | null;
    to: RunStatus | null;
    reasonCode: ReasonCode | null;
    actor: string | null;
  }>(
    c,
    sql`select id, at, type, from_status as "from", to_status as "to", reason_code as "reasonCode", actor
          from headgate.run_event where run_id = ${runId}::uuid order by id desc limit ${MAX_EVENTS}`,
  );
  return found.reverse().map((row) => ({ ...row, id: formatId('evt', row.id), at: instantOf(row.at) }));
}
