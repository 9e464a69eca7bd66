import type { BulkAnswer } from '@headgate/sdk';
import { publicStatusSchema, runStatus } from './run.js';
import { filterText, idsText, orNull, shapeOf, storableText, timeQuery, z } from './shape.js';

export const bulkFilter = z
  .strictObject({
    ...timeQuery,
    status: runStatus.optional(),
    publicStatus: publicStatusSchema.optional(),
    route: filterText,
    repository: filterText,
    tenant: filterText,
    workKey: filterText,
    taskId: filterText,
    ids: idsText.openapi({ description: 'These runs, at most 200, separated by commas' }),
  })
  .refine(
    (filter) => Object.keys(filter).length > 0,
    'name at least one filter: all runs there are is no selection',
  );

const TOKEN_CHARACTERS = 8_192;

export const bulkBody = z
  .strictObject({
    action: z.enum(['cancel', 'replay']),
    filter: bulkFilter,
    dryRun: z.boolean().openapi({ description: 'true: only say what would be done' }),
    token: z.string().min(1).max(TOKEN_CHARACTERS).optional().openapi({ description: 'Of the dry run' }),
    reason: storableText(1_000).optional(),
  })
  .openapi('BulkRequest');

export const bulkAnswerSchema = shapeOf<BulkAnswer>()(
  z
    .object({
      action: z.enum(['cancel', 'replay']),
      dryRun: z.boolean(),
      count: z.number().int(),
      more: z.boolean(),
      token: z.string().nullable(),
      runs: z.array(
        z.object({
          runId: z.string(),
          status: orNull(runStatus),
          outcome: z.enum(['possible', 'done', 'requested', 'skipped', 'refused']),
          newRunId: z.string().nullable(),
          code: z.string().nullable(),
          detail: z.string().nullable(),
        }),
      ),
    })
    .openapi('BulkAnswer'),
);
