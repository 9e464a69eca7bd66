/** What came in, and what was decided about it. Tables as the migrations make them; see `index.ts`. */
import type { DeferredId, LeaseId, Outcome, ReasonCode, ReceiptId, RunId, TaskId } from '@headgate/domain';
import { boolean, integer, jsonb, text, uuid } from 'drizzle-orm/pg-core';
import { bytea, decimalText, headgate, instant, instantOrNever } from './types.js';

export const deliveries = headgate.table('delivery', {
  sourceId: text('source_id').notNull(),
  eventId: text('event_id').notNull(),
  tenantId: integer('tenant_id').notNull(),
  receiptId: uuid('receipt_id').$type<ReceiptId>().notNull(),
  expiresAt: instant('expires_at').notNull(),
});

export const receipts = headgate.table('receipt', {
  id: uuid('id').$type<ReceiptId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  kind: text('kind').notNull(),
  outcome: text('outcome').$type<Outcome>().notNull(),
  reasonCode: text('reason_code').$type<ReasonCode>().notNull(),
  message: text('message').notNull(),
  rule: text('rule').notNull(),
  trigger: text('trigger').notNull(),
  via: text('via').notNull(),
  route: text('route'),
  existing: boolean('existing').notNull(),
  retryAfter: instant('retry_after'),
  watermark: text('watermark'),
  parentReceiptId: uuid('parent_receipt_id').$type<ReceiptId>(),
  createdAt: instant('created_at').notNull(),
  traceparent: text('traceparent'),
  source: text('source').notNull(),
  eventId: text('event_id').notNull(),
  type: text('type').notNull(),
  hookId: text('hook_id'),
  emittedAt: instant('emitted_at'),
  receivedAt: instant('received_at').notNull(),
  actor: text('actor'),
  repository: text('repository'),
  workKey: text('work_key'),
  targetId: text('target_id'),
  inputVersion: text('input_version'),
  generation: integer('generation'),
  policyVersion: integer('policy_version').notNull(),
  taskId: uuid('task_id').$type<TaskId>(),
  runId: uuid('run_id').$type<RunId>(),
  attemptNo: integer('attempt_no'),
  leaseId: uuid('lease_id').$type<LeaseId>(),
  fencingToken: decimalText('fencing_token'),
  concurrencyKey: text('concurrency_key'),
  mutations: jsonb('mutations'),
  repositoryConfigSha: text('repository_config_sha'),
  replayedBy: text('replayed_by'),
});

export const payloads = headgate.table('payload', {
  receiptId: uuid('receipt_id').$type<ReceiptId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  encoding: text('encoding').notNull(),
  mediaType: text('media_type').notNull(),
  headers: jsonb('headers').$type<Readonly<Record<string, string>>>(),
  data: bytea('data').notNull(),
});

export const deferredSignals = headgate.table('deferred_signal', {
  id: uuid('id').$type<DeferredId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  receiptId: uuid('receipt_id').$type<ReceiptId>().notNull(),
  taskId: uuid('task_id').$type<TaskId>(),
  reasonCode: text('reason_code').$type<ReasonCode>().notNull(),
  dueAt: instantOrNever('due_at').notNull(),
  tries: integer('tries').notNull(),
  candidate: jsonb('candidate').notNull(),
  createdAt: instant('created_at').notNull(),
  repositoryFileId: integer('repository_file_id'),
});

export const idempotencyKeys = headgate.table('idempotency_key', {
  tenantId: integer('tenant_id').notNull(),
  key: text('key').notNull(),
  requestHash: bytea('request_hash').notNull(),
  httpStatus: integer('http_status'),
  body: jsonb('body'),
  createdAt: instant('created_at').notNull(),
  expiresAt: instant('expires_at').notNull(),
});
