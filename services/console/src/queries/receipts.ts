/** Receipts: pages, and one, each with the closing receipt of the run it led to. */
import {
  formatId,
  formatIdOrNull,
  hashWorkKey,
  type LeaseId,
  type Outcome,
  parseId,
  type ReasonCode,
  type ReceiptId,
  type RunId,
  type TaskId,
} from '@headgate/domain';
import type { Feedback, Page, Receipt, ReceiptMutation } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { traceIdOf } from '@headgate/telemetry';
import { type SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { receiptQuery } from '../schemas/index.js';
import { feedbackOfReceipts } from './feedback.js';
import { instantOf, instantOrNull } from './instants.js';
import { between, pageOf } from './page.js';
import { list, rows } from './read.js';

interface ReceiptRow {
  readonly id: ReceiptId;
  readonly kind: Receipt['kind'];
  readonly outcome: Outcome;
  readonly reasonCode: ReasonCode;
  readonly message: string;
  readonly rule: string;
  readonly trigger: Receipt['trigger'];
  readonly via: Receipt['via'];
  readonly tenant: string;
  readonly route: string | null;
  readonly existing: boolean;
  readonly retryAfter: Date | null;
  readonly watermark: string | null;
  readonly parentReceiptId: ReceiptId | null;
  readonly replayedBy: string | null;
  readonly createdAt: Date;
  readonly traceparent: string | null;
  readonly eventId: string;
  readonly source: string;
  readonly type: string;
  readonly hookId: string | null;
  readonly emittedAt: Date | null;
  readonly receivedAt: Date;
  readonly workKey: string | null;
  readonly targetId: string | null;
  readonly inputVersion: string | null;
  readonly generation: number | null;
  readonly policyVersion: number;
  readonly repositoryConfig: string | null;
  readonly taskId: TaskId | null;
  readonly runId: RunId | null;
  readonly attemptNo: number | null;
  readonly leaseId: LeaseId | null;
  readonly fencingToken: string | null;
  readonly concurrencyKey: string | null;
  readonly mutations: ReceiptMutation[] | null;
}

// The closing receipt holds the end's evidence; while the run lives its newest attempt and its ledger stand in.
const receiptRows = (c: Connection, ids: readonly ReceiptId[]): Promise<ReceiptRow[]> =>
  rows<ReceiptRow>(
    c,
    sql`select x.id, x.kind, x.outcome, x.reason_code as "reasonCode", x.message, x.rule, x.trigger, x.via,
               t.key as tenant, x.route, x.existing, x.retry_after as "retryAfter", x.watermark,
               x.parent_receipt_id as "parentReceiptId", x.replayed_by as "replayedBy", x.created_at as "createdAt", x.traceparent,
               x.event_id as "eventId", x.source, x.type, x.hook_id as "hookId", x.emitted_at as "emittedAt",
               x.received_at as "receivedAt", x.work_key as "workKey", x.target_id as "targetId",
               x.input_version as "inputVersion", x.generation, x.policy_version as "policyVersion",
               x.repository_config_sha as "repositoryConfig",
               x.task_id as "taskId", x.run_id as "runId", x.concurrency_key as "concurrencyKey",
               coalesce(x.attempt_no, e.attempt_no, a.number) as "attemptNo",
               coalesce(x.lease_id, e.lease_id, a.lease_id) as "leaseId",
               coalesce(x.fencing_token, e.fencing_token, a.fencing_token) as "fencingToken",
               coalesce(x.mutations, e.mutations, o.mutations) as mutations
          from headgate.receipt x
          join headgate.tenant t on t.id = x.tenant_id
          left join lateral (
            select z.attempt_no, z.lease_id, z.fencing_token, z.mutations from headgate.receipt z
             where z.run_id = x.run_id and z.kind = 'closing' and x.kind = 'decision' limit 1) e on true
          left join lateral (
            select b.number, b.lease_id, b.fencing_token from headgate.attempt b
             where b.run_id = x.run_id order by b.number desc limit 1) a on true
          left join lateral (
            select jsonb_agg(jsonb_build_object('operationKey', p.key, 'externalId', p.external_id,
                                                'status', p.state) order by p.intended_at, p.id) as mutations
              from headgate.operation p where p.run_id = x.run_id) o on true
         where x.id = any (${list(ids, 'uuid')})
         order by x.id desc`,
  );

const answerOf = (row: ReceiptRow, feedback: Feedback | null): Receipt => ({
  id: formatId('rcpt', row.id),
  kind: row.kind,
  outcome: row.outcome,
  reasonCode: row.reasonCode,
  message: row.message,
  rule: row.rule,
  trigger: row.trigger,
  via: row.via,
  tenant: row.tenant,
  route: row.route,
  existing: row.existing,
  retryAfter: instantOrNull(row.retryAfter),
  watermark: row.watermark,
  parentReceiptId: formatIdOrNull('rcpt', row.parentReceiptId),
  replayedBy: row.replayedBy,
  createdAt: instantOf(row.createdAt),
  traceId: traceIdOf(row.traceparent),
  delivery: {
    eventId: row.eventId,
    source: row.source,
    type: row.type,
    hookId: row.hookId,
    emittedAt: instantOrNull(row.emittedAt),
    receivedAt: instantOf(row.receivedAt),
  },
  domain: {
    workKey: row.workKey,
    targetId: row.targetId,
    inputVersion: row.inputVersion,
    generation: row.generation,
    policyVersion: row.policyVersion,
    repositoryConfig: row.repositoryConfig,
  },
  execution: {
    taskId: formatIdOrNull('task', row.taskId),
    runId: formatIdOrNull('run', row.runId),
    attempt: row.attemptNo,
    leaseId: formatIdOrNull('lease', row.leaseId),
    fencingToken: row.fencingToken,
    concurrencyKey: row.concurrencyKey,
  },
  mutations: row.mutations ?? [],
  feedback,
});

/** Newest first. */
async function receiptAnswers(c: Connection, ids: readonly ReceiptId[]): Promise<Receipt[]> {
  const found = await receiptRows(c, ids);
  const told = await feedbackOfReceipts(c, ids);
  return found.map((row) => answerOf(row, told.get(row.id) ?? null));
}

export async function receiptAnswer(c: Connection, id: ReceiptId): Promise<Receipt | null> {
  const [receipt] = await receiptAnswers(c, [id]);
  return receipt ?? null;
}

/** @param tenantId the only tenant that the caller may see; null: all of them */
export async function receiptPageOf(
  c: Connection,
  tenantId: number | null,
  query: z.infer<typeof receiptQuery>,
): Promise<Page<Receipt>> {
  const time = between(query.since, query.until);
  const within: SQL[] = [...time.within];
  // Row level security would leave others' rows out one by one: named, its own pages are read (index: receipt_page).
  if (tenantId !== null) within.push(sql`x.tenant_id = ${tenantId}`);
  if (query.eventId !== undefined) within.push(sql`x.event_id = ${query.eventId}`);
  if (query.repository !== undefined) within.push(sql`x.repository = ${query.repository}`);
  if (query.runId !== undefined) {
    const runId = parseId('run', query.runId);
    if (runId === null) return { items: [], nextCursor: null };
    within.push(sql`x.run_id = ${runId}::uuid`);
  }
  if (query.workKey !== undefined) {
    const tasks = await tasksOf(c, query.workKey);
    if (tasks.length === 0) return { items: [], nextCursor: null };
    within.push(oneOf(tasks));
  }
  const filters: SQL[] = [sql`x.kind = ${query.kind}`, ...time.filters];
  if (query.outcome !== undefined) filters.push(sql`x.outcome = ${query.outcome}`);
  if (query.reasonCode !== undefined) filters.push(sql`x.reason_code = ${query.reasonCode}`);
  if (query.source !== undefined) filters.push(sql`x.source = ${query.source}`);
  if (query.route !== undefined) filters.push(sql`x.route = ${query.route}`);
  const { ids, nextCursor } = await pageOf<ReceiptId>(c, {
    from: sql`headgate.receipt x`,
    within,
    filters,
    columns: ['kind', 'created_at', 'outcome', 'reason_code', 'source', 'route'],
    limit: query.limit,
    cursor: query.cursor,
  });
  if (ids.length === 0) return { items: [], nextCursor };
  return { items: await receiptAnswers(c, ids), nextCursor };
}

/** A key is one task in each tenant; without it there is no receipt that led to its work. */
const tasksOf = async (c: Connection, workKey: string): Promise<readonly TaskId[]> =>
  (
    await rows<{ id: TaskId }>(
      c,
      sql`select id from headgate.task where key_hash = ${hashWorkKey(workKey)} and work_key = ${workKey}`,
    )
  ).map(({ id }) => id);

/** Compared with one, the index keeps its order; the tasks of several tenants are sorted. */
const oneOf = (tasks: readonly TaskId[]): SQL =>
  tasks.length === 1 ? sql`x.task_id = ${tasks[0]}::uuid` : sql`x.task_id = any (${list(tasks, 'uuid')})`;
