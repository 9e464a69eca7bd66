import type {
  Backfill,
  Schedule,
  ScheduleCount,
  ScheduleDetail,
  ScheduleRequest,
  ScheduleTick,
} from '@headgate/sdk';
import { instant, orNull, pageOf, reasonCode, shapeOf, storableText, z } from './shape.js';

const overlap = z
  .enum(['skip', 'bufferOne', 'bufferAll', 'cancelOther', 'terminateOther', 'allowAll'])
  .openapi('OverlapPolicy');
const origin = z.enum(['timer', 'trigger', 'backfill']).openapi('TickOrigin');
const bucket = z
  .enum(['fired', 'buffered', 'skipped', 'missed', 'excluded', 'paused', 'discarded'])
  .openapi('TickBucket');

const tick = shapeOf<ScheduleTick>()(
  z.object({
    origin,
    nominalAt: instant,
    untilAt: instant,
    count: z.number().int(),
    target: z.string(),
    bucket,
    reasonCode,
    receiptId: z.string().nullable(),
    runId: z.string().nullable(),
  }),
);
const count = shapeOf<ScheduleCount>()(z.object({ origin, bucket, total: z.number().int() }));

const scheduleShape = {
  id: z.string(),
  tenant: z.string(),
  route: z.string(),
  ordinal: z.number().int(),
  cron: z.string(),
  timezone: z.string(),
  startAt: instant.nullable(),
  endAt: instant.nullable(),
  exclude: z.array(z.string()),
  jitterMs: z.number(),
  overlap,
  catchUp: z.object({
    mode: z.enum(['none', 'latest', 'all']),
    windowMs: z.number(),
    max: z.number().int(),
  }),
  pauseOnFailure: z.boolean(),
  state: z.enum(['active', 'paused']),
  note: z.string().nullable(),
  pausedAt: instant.nullable(),
  pausedBy: z.string().nullable(),
  lastNominalAt: instant.nullable(),
  nextAt: instant.nullable(),
  recent: z.array(tick),
  next: z.array(instant),
  counts: z.array(count),
};

export const scheduleSchema = shapeOf<Schedule>()(z.object(scheduleShape).openapi('Schedule'));
export const schedulePage = pageOf(scheduleSchema, 'SchedulePage');

export const scheduleRequestSchema = shapeOf<ScheduleRequest>()(
  z
    .object({
      id: z.string(),
      scheduleId: z.string(),
      kind: z.enum(['trigger', 'backfill']),
      overlap: orNull(overlap),
      fromAt: instant,
      untilAt: instant,
      state: z.enum(['pending', 'done', 'refused']),
      detail: z.string().nullable(),
      ticks: z.number().int(),
      reason: z.string().nullable(),
      requestedBy: z.string(),
      requestedAt: instant,
      finishedAt: instant.nullable(),
    })
    .openapi('ScheduleRequest'),
);

export const scheduleDetailSchema = shapeOf<ScheduleDetail>()(
  z
    .object({ ...scheduleShape, running: z.array(z.string()), requests: z.array(scheduleRequestSchema) })
    .openapi('ScheduleDetail'),
);

export const backfillSchema = shapeOf<Backfill>()(
  z
    .object({
      dryRun: z.boolean(),
      times: z.number().int(),
      alreadyFired: z.number().int(),
      first: z.array(instant),
      request: orNull(scheduleRequestSchema),
    })
    .openapi('Backfill'),
);

const words = storableText(2_000).optional();
const givenInstant = z.iso.datetime({ offset: true });

export const pauseBody = z.strictObject({ note: words }).openapi('PauseRequest');
export const triggerBody = z
  .strictObject({ overlap: overlap.optional(), reason: words })
  .openapi('TriggerScheduleRequest');
export const backfillBody = z
  .strictObject({
    from: givenInstant,
    until: givenInstant,
    overlap: overlap.optional(),
    reason: words,
    dryRun: z.boolean().optional(),
  })
  .openapi('BackfillRequest');
