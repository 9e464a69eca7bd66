/** What belongs to the instance: policy, tenants, names, tokens, subscribers. Tables as the migrations make them; see `index.ts`. */
import type { Policy } from '@headgate/domain';
import { boolean, integer, jsonb, text, uuid } from 'drizzle-orm/pg-core';
import { bytea, headgate, instant, xid8 } from './types.js';

export const incarnation = headgate.table('incarnation', {
  id: uuid('id').notNull(),
  createdAt: instant('created_at').notNull(),
});

export const policyVersions = headgate.table('policy_version', {
  id: integer('id').notNull(),
  digest: text('digest').notNull(),
  policy: jsonb('policy').$type<Policy>().notNull(),
  actor: text('actor').notNull(),
  createdAt: instant('created_at').notNull(),
});

export const policyHead = headgate.table('policy_head', {
  singleton: boolean('singleton').notNull(),
  policyVersion: integer('policy_version').notNull(),
  activatedAt: instant('activated_at').notNull(),
  actor: text('actor').notNull(),
});

export const policyActivations = headgate.table('policy_activation', {
  id: integer('id').notNull(),
  policyVersion: integer('policy_version').notNull(),
  previousVersion: integer('previous_version'),
  actor: text('actor').notNull(),
  reason: text('reason'),
  activatedAt: instant('activated_at').notNull(),
});

export const tenants = headgate.table('tenant', {
  id: integer('id').notNull(),
  key: text('key').notNull(),
  timezone: text('timezone').notNull(),
  createdAt: instant('created_at').notNull(),
});

export const dimensions = headgate.table('dimension', {
  id: integer('id').notNull(),
  tenantId: integer('tenant_id').notNull(),
  kind: text('kind').notNull(),
  key: text('key').notNull(),
});

export const repositories = headgate.table('repository', {
  id: integer('id').notNull(),
  tenantId: integer('tenant_id').notNull(),
  source: text('source').notNull(),
  externalId: text('external_id').notNull(),
  fullName: text('full_name').notNull(),
  url: text('url'),
  defaultBranch: text('default_branch'),
  updatedAt: instant('updated_at').notNull(),
});

export const repositoryFiles = headgate.table('repository_file', {
  id: integer('id').notNull(),
  tenantId: integer('tenant_id').notNull(),
  source: text('source').notNull(),
  fullName: text('full_name').notNull(),
  state: text('state').notNull(),
  blobSha: text('blob_sha'),
  commitSha: text('commit_sha'),
  detail: text('detail'),
  readAt: instant('read_at'),
  requestedAt: instant('requested_at').notNull(),
  claimedUntil: instant('claimed_until'),
  claim: uuid('claim'),
});

export const repositoryFileTexts = headgate.table('repository_file_text', {
  tenantId: integer('tenant_id').notNull(),
  blobSha: text('blob_sha').notNull(),
  text: text('text').notNull(),
  createdAt: instant('created_at').notNull(),
});

export const apiTokens = headgate.table('api_token', {
  id: uuid('id').notNull(),
  tenantId: integer('tenant_id'),
  name: text('name').notNull(),
  tokenHash: bytea('token_hash').notNull(),
  role: text('role').notNull(),
  createdAt: instant('created_at').notNull(),
  expiresAt: instant('expires_at'),
  lastUsedAt: instant('last_used_at'),
  revokedAt: instant('revoked_at'),
});

export const sessions = headgate.table('session', {
  id: uuid('id').notNull(),
  tokenId: uuid('token_id').notNull(),
  secretHash: bytea('secret_hash').notNull(),
  createdAt: instant('created_at').notNull(),
  expiresAt: instant('expires_at').notNull(),
});

export const subscriberCursors = headgate.table('subscriber_cursor', {
  subscriber: text('subscriber').notNull(),
  incarnationId: uuid('incarnation_id').notNull(),
  xid: xid8('xid').notNull(),
  eventId: uuid('event_id').notNull(),
  updatedAt: instant('updated_at').notNull(),
});
