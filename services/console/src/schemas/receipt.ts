import type { Feedback, Receipt, SignalAnswer } from '@headgate/sdk';
import {
  filterText,
  instant,
  orNull,
  pageOf,
  pageQuery,
  reasonCode,
  shapeOf,
  timeQuery,
  z,
} from './shape.js';

export const outcome = z.enum(['accept', 'defer', 'reject', 'no-work']).openapi('Outcome');

export const feedbackSchema = shapeOf<Feedback>()(
  z
    .object({
      repository: z.string(),
      number: z.string(),
      status: z.enum(['intended', 'attempted', 'confirmed', 'ambiguous', 'abandoned']),
      reasonCode,
      message: z.string(),
      url: z.string().nullable(),
      detail: z.string().nullable(),
      settledAt: instant.nullable(),
    })
    .openapi('Feedback'),
);

export const receiptSchema = shapeOf<Receipt>()(
  z
    .object({
      id: z.string(),
      kind: z.enum(['decision', 'closing']),
      outcome,
      reasonCode,
      message: z.string(),
      rule: z.string(),
      trigger: z.enum(['event', 'schedule', 'goal', 'manual']),
      via: z.enum(['webhook', 'poll', 'scan', 'timer', 'api']),
      tenant: z.string(),
      route: z.string().nullable(),
      existing: z.boolean(),
      retryAfter: instant.nullable(),
      watermark: z.string().nullable(),
      parentReceiptId: z.string().nullable(),
      replayedBy: z.string().nullable(),
      createdAt: instant,
      traceId: z.string().nullable(),
      delivery: z.object({
        eventId: z.string(),
        source: z.string(),
        type: z.string(),
        hookId: z.string().nullable(),
        emittedAt: instant.nullable(),
        receivedAt: instant,
      }),
      domain: z.object({
        workKey: z.string().nullable(),
        targetId: z.string().nullable(),
        inputVersion: z.string().nullable(),
        generation: z.number().int().nullable(),
        policyVersion: z.number().int(),
        repositoryConfig: z.string().nullable(),
      }),
      execution: z.object({
        taskId: z.string().nullable(),
        runId: z.string().nullable(),
        attempt: z.number().int().nullable(),
        leaseId: z.string().nullable(),
        fencingToken: z.string().nullable(),
        concurrencyKey: z.string().nullable(),
      }),
      mutations: z.array(
        z.object({ operationKey: z.string(), externalId: z.string().nullable(), status: z.string() }),
      ),
      feedback: orNull(feedbackSchema),
    })
    .openapi('Receipt'),
);
export const receiptPage = pageOf(receiptSchema, 'ReceiptPage');

export const receiptQuery = z.strictObject({
  ...pageQuery,
  ...timeQuery,
  kind: z.enum(['decision', 'closing']).default('decision'),
  outcome: outcome.optional(),
  reasonCode: reasonCode.optional(),
  source: filterText,
  route: filterText,
  eventId: filterText,
  workKey: filterText,
  repository: filterText,
  runId: filterText,
});

export const signalAnswerSchema = shapeOf<SignalAnswer>()(
  z
    .object({
      receiptId: z.string(),
      outcome,
      reasonCode,
      message: z.string(),
      runId: z.string().nullable(),
      taskId: z.string().nullable(),
      existing: z.boolean(),
      retryAfter: instant.nullable(),
    })
    .openapi('SignalAnswer'),
);

export const replayBody = z
  .strictObject({
    as: z.enum(['signal', 'newWork']).default('signal'),
    nonce: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,64}$/, 'use 1 to 64 letters, digits, dots, dashes and underscores')
      .optional(),
    cancelLive: z.boolean().default(false),
  })
  .refine(({ as, cancelLive }) => as === 'newWork' || !cancelLive, {
    error: 'only new work ends a live run: add "as": "newWork"',
    path: ['cancelLive'],
  })
  .openapi('ReplayRequest');
