/** When routes wake by themselves. Tables as the migrations make them; see `index.ts`. */
import type { ReasonCode, ReceiptId, ScheduleId, ScheduleRequestId } from '@headgate/domain';
import { bigint, integer, jsonb, text, uuid } from 'drizzle-orm/pg-core';
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
  pausedAt: instant('paused_at'),
  pausedBy: text('paused_by'),
  resumedAt: instant('resumed_at').notNull(),
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
  origin: text('origin').notNull(),
});

export const scheduleCounts = headgate.table('schedule_count', {
  scheduleId: uuid('schedule_id').$type<ScheduleId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  origin: text('origin').notNull(),
  bucket: text('bucket').notNull(),
  total: bigint('total', { mode: 'number' }).notNull(),
});

export const scheduleRequests = headgate.table('schedule_request', {
  id: uuid('id').$type<ScheduleRequestId>().notNull(),
  scheduleId: uuid('schedule_id').$type<ScheduleId>().notNull(),
  tenantId: integer('tenant_id').notNull(),
  kind: text('kind').notNull(),
  overlap: text('overlap'),
  fromAt: instant('from_at').notNull(),
  untilAt: instant('until_at').notNull(),
  cursorAt: instant('cursor_at'),
  state: text('state').notNull(),
  detail: text('detail'),
  ticks: integer('ticks').notNull(),
  reason: text('reason'),
  requestedBy: text('requested_by').notNull(),
  requestedAt: instant('requested_at').notNull(),
  finishedAt: instant('finished_at'),
});
