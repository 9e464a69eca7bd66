/** What is observed until it holds. Tables as the migrations make them; see `index.ts`. */
import type { GoalId, ObservationId, ReasonCode, ReceiptId, RunId } from '@headgate/domain';
import { boolean, integer, jsonb, text, uuid } from 'drizzle-orm/pg-core';
import { headgate, instant, usd } from './types.js';

export const goals = headgate.table('goal', {
  id: uuid('id').$type<GoalId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  route: text('route').notNull(),
  ordinal: integer('ordinal').notNull(),
  target: text('target').notNull(),
  repository: text('repository').notNull(),
  spec: jsonb('spec').notNull(),
  policyVersion: integer('policy_version').notNull(),
  state: text('state').notNull(),
  stateAt: instant('state_at').notNull(),
  stateBy: text('state_by'),
  reasonCode: text('reason_code').$type<ReasonCode>(),
  note: text('note'),
  receiptId: uuid('receipt_id').$type<ReceiptId>(),
  epoch: integer('epoch').notNull(),
  isReset: boolean('is_reset').notNull(),
  phase: text('phase').notNull(),
  runId: uuid('run_id').$type<RunId>(),
  startedAt: instant('started_at').notNull(),
  nextAt: instant('next_at'),
  observations: integer('observations').notNull(),
  runs: integer('runs').notNull(),
  costUsd: usd('cost_usd').notNull(),
  noProgress: integer('no_progress').notNull(),
  unknowns: integer('unknowns').notNull(),
  ranSince: boolean('ran_since').notNull(),
  fingerprint: text('fingerprint'),
});

export const observations = headgate.table('observation', {
  id: uuid('id').$type<ObservationId>().notNull(),
  goalId: uuid('goal_id').$type<GoalId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  epoch: integer('epoch').notNull(),
  number: integer('number').notNull(),
  runId: uuid('run_id').$type<RunId>().notNull(),
  outcome: text('outcome').notNull(),
  ref: text('ref'),
  version: text('version'),
  result: jsonb('result'),
  detail: text('detail'),
  fingerprint: text('fingerprint'),
  receiptId: uuid('receipt_id').$type<ReceiptId>(),
  observedAt: instant('observed_at').notNull(),
});
