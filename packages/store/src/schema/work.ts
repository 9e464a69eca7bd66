/** What is asked for, its runs, and what happened to them. Tables as the migrations make them; see `index.ts`. */
import type { EventId, LeaseId, ReasonCode, ReceiptId, RunId, RunSpec, TaskId } from '@headgate/domain';
import { integer, jsonb, smallint, text, uuid } from 'drizzle-orm/pg-core';
import { bytea, decimalText, headgate, instant, runStatus, usd, xid8 } from './types.js';

export const tasks = headgate.table('task', {
  id: uuid('id').$type<TaskId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  keyHash: bytea('key_hash').notNull(),
  workKey: text('work_key').notNull(),
  generation: integer('generation').notNull(),
  publication: integer('publication').notNull(),
  latestVersion: text('latest_version'),
  latestSourceAt: instant('latest_source_at'),
  latestParents: text('latest_parents').array().notNull(),
  nextVersion: text('next_version'),
  nextReceiptId: uuid('next_receipt_id').$type<ReceiptId>(),
  nextSourceAt: instant('next_source_at'),
  nextParents: text('next_parents').array().notNull(),
  cancelledAt: instant('cancelled_at'),
  cancelledBy: text('cancelled_by'),
  createdAt: instant('created_at').notNull(),
});

export const taskVersions = headgate.table('task_version', {
  taskId: uuid('task_id').$type<TaskId>().notNull(),
  generation: integer('generation').notNull(),
  versionHash: bytea('version_hash').notNull(),
  tenantId: integer('tenant_id').notNull(),
  inputVersion: text('input_version').notNull(),
  runId: uuid('run_id').$type<RunId>().notNull(),
  sourceAt: instant('source_at'),
  parentVersions: text('parent_versions').array().notNull(),
  outcome: runStatus('outcome'),
  createdAt: instant('created_at').notNull(),
});

export const taskSignals = headgate.table('task_signal', {
  taskId: uuid('task_id').$type<TaskId>().notNull(),
  receiptId: uuid('receipt_id').$type<ReceiptId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  runId: uuid('run_id').$type<RunId>(),
});

export const publicationPlaces = headgate.table('publication_place', {
  taskId: uuid('task_id').$type<TaskId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  repositoryId: integer('repository_id').notNull(),
  createdAt: instant('created_at').notNull(),
});

export const publicationEnds = headgate.table('publication_end', {
  taskId: uuid('task_id').$type<TaskId>().notNull(),
  publication: integer('publication').notNull(),
  tenantId: integer('tenant_id').notNull(),
  receiptId: uuid('receipt_id').$type<ReceiptId>().notNull(),
  endedAt: instant('ended_at').notNull(),
});

export const runs = headgate.table('run', {
  id: uuid('id').$type<RunId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  taskId: uuid('task_id').$type<TaskId>().notNull(),
  receiptId: uuid('receipt_id').$type<ReceiptId>().notNull(),
  generation: integer('generation').notNull(),
  publication: integer('publication').notNull(),
  inputVersion: text('input_version').notNull(),
  route: text('route').notNull(),
  mode: text('mode').notNull(),
  agent: text('agent').notNull(),
  queue: text('queue').notNull(),
  repositoryId: integer('repository_id'),
  source: text('source').notNull(),
  risk: text('risk').notNull(),
  priority: integer('priority').notNull(),
  sourceAt: instant('source_at'),
  parentVersions: text('parent_versions').array().notNull(),
  policyVersion: integer('policy_version').notNull(),
  concurrencyKey: text('concurrency_key'),
  actor: text('actor'),
  userId: integer('user_id'),
  traceparent: text('traceparent'),
  hops: smallint('hops').notNull(),
  rootReceiptId: uuid('root_receipt_id').$type<ReceiptId>(),
  chainRuns: smallint('chain_runs').notNull(),
  subject: bytea('subject'),
  spec: jsonb('spec').$type<RunSpec>().notNull(),
  createdAt: instant('created_at').notNull(),
  status: runStatus('status').notNull(),
  statusAt: instant('status_at').notNull(),
  reasonCode: text('reason_code').$type<ReasonCode>(),
  reasonDetail: text('reason_detail'),
  attemptNo: integer('attempt_no').notNull(),
  failuresApplication: smallint('failures_application').notNull(),
  failuresInfrastructure: smallint('failures_infrastructure').notNull(),
  failuresLeaseLost: smallint('failures_lease_lost').notNull(),
  failuresRateLimit: smallint('failures_rate_limit').notNull(),
  cancelRequestedAt: instant('cancel_requested_at'),
  cancelPhase: runStatus('cancel_phase'),
  cancelActor: text('cancel_actor'),
  sealedAt: instant('sealed_at'),
  branch: text('branch'),
  startedAt: instant('started_at'),
  finishedAt: instant('finished_at'),
  costUsd: usd('cost_usd').notNull(),
});

export const runEvents = headgate.table('run_event', {
  id: uuid('id').$type<EventId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  runId: uuid('run_id').$type<RunId>(),
  taskId: uuid('task_id').$type<TaskId>(),
  at: instant('at').notNull(),
  type: text('type').notNull(),
  fromStatus: runStatus('from_status'),
  toStatus: runStatus('to_status'),
  reasonCode: text('reason_code').$type<ReasonCode>(),
  actor: text('actor'),
  attemptNo: integer('attempt_no'),
  fencingToken: decimalText('fencing_token'),
  leaseId: uuid('lease_id').$type<LeaseId>(),
  data: jsonb('data'),
  xid: xid8('xid').notNull(),
});
