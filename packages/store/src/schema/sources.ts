/** Looking at sources. Tables as the migrations make them; see `index.ts`. */
import { bigint, integer, jsonb, text, uuid } from 'drizzle-orm/pg-core';
import { headgate, instant } from './types.js';

export const watermarks = headgate.table('watermark', {
  tenantId: integer('tenant_id').notNull(),
  source: text('source').notNull(),
  repository: text('repository').notNull(),
  version: bigint('version', { mode: 'number' }).notNull(),
  nextAt: instant('next_at').notNull(),
  claim: uuid('claim'),
  claimedUntil: instant('claimed_until'),
  lookedAt: instant('looked_at'),
  validators: jsonb('validators').notNull(),
  outcome: text('outcome').notNull(),
  detail: text('detail'),
  failures: integer('failures').notNull(),
  quietSince: instant('quiet_since'),
  quietLooks: integer('quiet_looks').notNull(),
  silentSince: instant('silent_since'),
  silentCount: integer('silent_count').notNull(),
  silentFact: text('silent_fact'),
});

export const sourceFacts = headgate.table('source_fact', {
  tenantId: integer('tenant_id').notNull(),
  source: text('source').notNull(),
  repository: text('repository').notNull(),
  fact: text('fact').notNull(),
  version: text('version').notNull(),
  changedAt: instant('changed_at').notNull(),
  seenAt: instant('seen_at').notNull(),
});

export const redeliveries = headgate.table('redelivery', {
  tenantId: integer('tenant_id').notNull(),
  source: text('source').notNull(),
  hook: text('hook').notNull(),
  guid: text('guid').notNull(),
  tries: integer('tries').notNull(),
  askedAt: instant('asked_at'),
  settledAt: instant('settled_at'),
  detail: text('detail'),
});
