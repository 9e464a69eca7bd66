/** The loop guard's memory, answers to refused requests, repositories as forges number them; see `index.ts`. */
import type { ReasonCode, ReceiptId } from '@headgate/domain';
import { integer, text, uuid } from 'drizzle-orm/pg-core';
import { bytea, headgate, instant } from './types.js';

export const targetTouches = headgate.table('target_touch', {
  tenantId: integer('tenant_id').notNull(),
  subject: bytea('subject').notNull(),
  touchedAt: instant('touched_at').notNull(),
});

export const feedback = headgate.table('feedback', {
  receiptId: uuid('receipt_id').$type<ReceiptId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  source: text('source').notNull(),
  repository: text('repository').notNull(),
  number: text('number').notNull(),
  commentId: text('comment_id').notNull(),
  reasonCode: text('reason_code').$type<ReasonCode>().notNull(),
  message: text('message').notNull(),
  state: text('state').notNull(),
  tries: integer('tries').notNull(),
  dueAt: instant('due_at').notNull(),
  claimToken: uuid('claim_token'),
  claimedUntil: instant('claimed_until'),
  attemptedAt: instant('attempted_at'),
  externalId: text('external_id'),
  url: text('url'),
  detail: text('detail'),
  createdAt: instant('created_at').notNull(),
  settledAt: instant('settled_at'),
});

export const forgeRepositories = headgate.table('forge_repository', {
  tenantId: integer('tenant_id').notNull(),
  source: text('source').notNull(),
  forgeId: text('forge_id').notNull(),
  fullName: text('full_name').notNull(),
  configuredName: text('configured_name'),
  installationId: text('installation_id'),
  removedAt: instant('removed_at'),
  suspendedAt: instant('suspended_at'),
  updatedAt: instant('updated_at').notNull(),
});
