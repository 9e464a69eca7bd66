/** Who runs, what each attempt did, left and cost. Tables as the migrations make them; see `index.ts`. */
import type {
  ApprovalId,
  ApprovalOutcome,
  ApprovalSubject,
  ArtifactId,
  AttemptId,
  Capabilities,
  DeadLetterId,
  LeaseId,
  OperationId,
  OperationState,
  ProposedOperation,
  ReasonCode,
  RunId,
  TaskId,
  WorkerId,
} from '@headgate/domain';
import { bigint, boolean, date, integer, jsonb, text, uuid } from 'drizzle-orm/pg-core';
import { bytea, decimalText, headgate, instant, usd } from './types.js';

export const workers = headgate.table('worker', {
  id: uuid('id').$type<WorkerId>().notNull(),
  name: text('name').notNull(),
  state: text('state').notNull(),
  capabilities: jsonb('capabilities').$type<Capabilities>().notNull(),
  queueIds: integer('queue_ids').array().notNull(),
  slots: integer('slots').notNull(),
  leaseTtlMs: integer('lease_ttl_ms').notNull(),
  host: text('host').notNull(),
  pid: integer('pid').notNull(),
  version: text('version').notNull(),
  registeredAt: instant('registered_at').notNull(),
  heartbeatAt: instant('heartbeat_at').notNull(),
  stoppedAt: instant('stopped_at'),
});

export const attempts = headgate.table('attempt', {
  id: uuid('id').$type<AttemptId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  runId: uuid('run_id').$type<RunId>().notNull(),
  number: integer('number').notNull(),
  workerId: uuid('worker_id').$type<WorkerId>().notNull(),
  leaseId: uuid('lease_id').$type<LeaseId>().notNull(),
  fencingToken: decimalText('fencing_token').notNull(),
  status: text('status').notNull(),
  reasonCode: text('reason_code').$type<ReasonCode>(),
  detail: text('detail'),
  startedAt: instant('started_at').notNull(),
  finishedAt: instant('finished_at'),
  costUsd: usd('cost_usd').notNull(),
  evidence: jsonb('evidence'),
  leaseRenewals: integer('lease_renewals'),
  leaseRenewedAt: instant('lease_renewed_at'),
  leaseExpiresAt: instant('lease_expires_at'),
});

export const seals = headgate.table('seal', {
  runId: uuid('run_id').$type<RunId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  attemptId: uuid('attempt_id').$type<AttemptId>().notNull(),
  verdict: text('verdict').notNull(),
  baseVersion: text('base_version').notNull(),
  commitSha: text('commit_sha'),
  hash: bytea('hash').notNull(),
  bytes: bigint('bytes', { mode: 'number' }).notNull(),
  verification: jsonb('verification').notNull(),
  summary: text('summary'),
  createdAt: instant('created_at').notNull(),
});

export const sealChunks = headgate.table('seal_chunk', {
  runId: uuid('run_id').$type<RunId>().notNull(),
  seq: integer('seq').notNull(),
  tenantId: integer('tenant_id').notNull(),
  data: bytea('data').notNull(),
});

export const operations = headgate.table('operation', {
  id: uuid('id').$type<OperationId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  keyHash: bytea('key_hash').notNull(),
  key: text('key').notNull(),
  kind: text('kind').notNull(),
  state: text('state').$type<OperationState>().notNull(),
  runId: uuid('run_id').$type<RunId>().notNull(),
  taskId: uuid('task_id').$type<TaskId>().notNull(),
  fencingToken: decimalText('fencing_token').notNull(),
  leaseId: uuid('lease_id').$type<LeaseId>().notNull(),
  intent: jsonb('intent').notNull(),
  tries: integer('tries').notNull(),
  externalId: text('external_id'),
  url: text('url'),
  evidence: jsonb('evidence'),
  detail: text('detail'),
  intendedAt: instant('intended_at').notNull(),
  attemptedAt: instant('attempted_at'),
  ambiguousAt: instant('ambiguous_at'),
  settledAt: instant('settled_at'),
  checkedAt: instant('checked_at'),
});

export const approvals = headgate.table('approval', {
  id: uuid('id').$type<ApprovalId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  runId: uuid('run_id').$type<RunId>().notNull(),
  subject: text('subject').$type<ApprovalSubject>().notNull(),
  policyVersion: integer('policy_version').notNull(),
  resultHash: bytea('result_hash'),
  operations: jsonb('operations').$type<readonly ProposedOperation[]>().notNull(),
  requester: text('requester'),
  fourEyes: boolean('four_eyes').notNull(),
  requestedAt: instant('requested_at').notNull(),
  expiresAt: instant('expires_at').notNull(),
  outcome: text('outcome').$type<ApprovalOutcome>(),
  decidedAt: instant('decided_at'),
  decidedBy: text('decided_by'),
  reason: text('reason'),
});

export const artifacts = headgate.table('artifact', {
  id: uuid('id').$type<ArtifactId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  runId: uuid('run_id').$type<RunId>().notNull(),
  attemptNo: integer('attempt_no').notNull(),
  name: text('name').notNull(),
  path: text('path').notNull(),
  bytes: bigint('bytes', { mode: 'number' }).notNull(),
  sha256: bytea('sha256').notNull(),
  mediaType: text('media_type').notNull(),
  createdAt: instant('created_at').notNull(),
});

export const deadLetters = headgate.table('dead_letter', {
  id: uuid('id').$type<DeadLetterId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  runId: uuid('run_id').$type<RunId>().notNull(),
  reasonCode: text('reason_code').$type<ReasonCode>().notNull(),
  owner: text('owner'),
  evidence: jsonb('evidence').notNull(),
  createdAt: instant('created_at').notNull(),
  resolvedAt: instant('resolved_at'),
  resolvedBy: text('resolved_by'),
});

export const usage = headgate.table('usage', {
  attemptId: uuid('attempt_id').$type<AttemptId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  runId: uuid('run_id').$type<RunId>().notNull(),
  model: text('model'),
  inputTokens: bigint('input_tokens', { mode: 'number' }).notNull(),
  outputTokens: bigint('output_tokens', { mode: 'number' }).notNull(),
  toolMs: bigint('tool_ms', { mode: 'number' }).notNull(),
  cpuMs: bigint('cpu_ms', { mode: 'number' }).notNull(),
  artifactBytes: bigint('artifact_bytes', { mode: 'number' }).notNull(),
  providerCalls: integer('provider_calls').notNull(),
  costUsd: usd('cost_usd').notNull(),
  costSource: text('cost_source').notNull(),
});

export const tenantDays = headgate.table('tenant_day', {
  tenantId: integer('tenant_id').notNull(),
  day: date('day', { mode: 'string' }).notNull(),
  settledUsd: usd('settled_usd').notNull(),
});
