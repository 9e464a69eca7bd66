/** When routes wake by themselves. Tables as the migrations make them; see `index.ts`. */
import type { ReasonCode, ReceiptId, ScheduleId } from '@headgate/domain';
import { integer, jsonb, text, uuid } from 'drizzle-orm/pg-core';
import { headgate, instant } from './types.js';

export const schedules = headgate.table('schedule', {
  id: uuid('id').$type<ScheduleId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  route: text('route').notNull(),
  ordinal: integer('ordinal').notNull(),
  spec: jsonb('spec').notNull(),
  policyVersion: integer('policy_version').notNull(),
  state: text('state').notNull(),
  note: text('note'),
  anchorAt: instant('anchor_at').notNull(),
  lastNominalAt: instant('last_nominal_at'),
  nextAt: instant('next_at'),
});

export const scheduleTicks = headgate.table('schedule_tick', {
  scheduleId: uuid('schedule_id').$type<ScheduleId>().notNull(),
  nominalAt: instant('nominal_at').notNull(),
  target: text('target').notNull(),
  tenantId: integer('tenant_id').notNull(),
  untilAt: instant('until_at').notNull(),
  count: integer('count').notNull(),
  bucket: text('bucket').notNull(),
  reasonCode: text('reason_code').$type<ReasonCode>().notNull(),
  receiptId: uuid('receipt_id').$type<ReceiptId>(),
  createdAt: instant('created_at').notNull(),
});
