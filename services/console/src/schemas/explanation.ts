import { MAX_REFERENCE_CHARACTERS } from '@headgate/domain';
import type { Explanation, Problem } from '@headgate/sdk';
import { outcome } from './receipt.js';
import { waitingSchema } from './run.js';
import { instant, orNull, reasonCode, shapeOf, storableText, z } from './shape.js';

export const explanationSchema = shapeOf<Explanation>()(
  z
    .object({
      ref: z.string(),
      kind: z.enum([
        'delivery',
        'receipt',
        'workKey',
        'task',
        'run',
        'schedule',
        'goal',
        'url',
        'sha',
        'none',
      ]),
      summary: z.string(),
      steps: z.array(
        z.object({
          at: instant,
          type: z.string(),
          outcome: orNull(outcome),
          reasonCode: orNull(reasonCode),
          message: z.string(),
          rule: z.string().nullable(),
          actor: z.string().nullable(),
          receiptId: z.string().nullable(),
          runId: z.string().nullable(),
          count: z.number().int().min(1),
          lastAt: instant,
        }),
      ),
      waiting: orNull(waitingSchema),
      candidates: z.array(z.object({ kind: z.string(), id: z.string(), label: z.string() })),
    })
    .openapi('Explanation'),
);

export const explainQuery = z.strictObject({ ref: storableText(MAX_REFERENCE_CHARACTERS) });

export const problemSchema = shapeOf<Problem>()(
  z
    .object({
      type: z.string(),
      title: z.string(),
      status: z.number().int(),
      detail: z.string(),
      code: z.string(),
      receiptId: z.string().nullable(),
    })
    .openapi('Problem'),
);

export const workBody = z
  .strictObject({
    route: z.string(),
    repository: z.string().optional(),
    target: z
      .object({
        kind: z.enum(['pull_request', 'branch', 'issue', 'repository']),
        id: z.string(),
        ref: z.string().nullable().optional(),
      })
      .optional(),
    workKey: z.string().optional(),
    inputVersion: z.string().optional(),
    inputs: z.unknown().optional(),
    priority: z.union([z.enum(['urgent', 'high', 'normal', 'low']), z.number().int()]).optional(),
    reason: z.string().optional(),
  })
  .openapi('WorkRequest');
