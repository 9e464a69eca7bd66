import type { LogFile, LogMatches, LogRange } from '@headgate/sdk';
import { instant, pageOf, shapeOf, storableText, z } from './shape.js';

export const logFileSchema = shapeOf<LogFile>()(
  z
    .object({
      attempt: z.number().int(),
      name: z.string(),
      step: z.enum(['setup', 'agent', 'verify']),
      number: z.number().int(),
      bytes: z.number(),
      isComplete: z.boolean(),
      isHere: z.boolean(),
      writtenAt: instant.nullable(),
    })
    .openapi('LogFile'),
);
export const logFilePage = pageOf(logFileSchema, 'LogFilePage');

export const logRangeSchema = shapeOf<LogRange>()(
  z
    .object({
      attempt: z.number().int(),
      name: z.string(),
      offset: z.number(),
      nextOffset: z.number(),
      bytes: z.number(),
      isComplete: z.boolean(),
      text: z.string(),
    })
    .openapi('LogRange'),
);

export const logMatchesSchema = shapeOf<LogMatches>()(
  z
    .object({
      attempt: z.number().int(),
      name: z.string(),
      items: z.array(z.object({ offset: z.number(), line: z.string() })),
      nextOffset: z.number().nullable(),
    })
    .openapi('LogMatches'),
);

const place = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional();
const attempt = z.coerce.number().int().min(1);

export const logQuery = z.strictObject({
  attempt,
  offset: place.openapi({ description: 'From this byte on' }),
  before: place.openapi({ description: 'Up to this byte; without both, up to the end' }),
  limit: z.coerce.number().int().min(1_024).max(1_048_576).default(262_144),
});
export const logSearch = z.strictObject({ attempt, text: storableText(200), offset: place });
