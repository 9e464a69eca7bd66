/** The data of the events of `GET /v1/stream`. */
import type { StreamBeat, StreamChange, StreamReload } from '@headgate/sdk';
import { publicStatusSchema, runStatus } from './run.js';
import { instant, orNull, reasonCode, shapeOf, z } from './shape.js';

export const streamChangeSchema = shapeOf<StreamChange>()(
  z
    .object({
      eventId: z.string(),
      at: instant,
      type: z.string(),
      runId: z.string().nullable(),
      taskId: z.string().nullable(),
      from: orNull(runStatus),
      to: orNull(runStatus),
      publicStatus: orNull(publicStatusSchema),
      reasonCode: orNull(reasonCode),
      attempt: z.number().int().nullable(),
    })
    .openapi('StreamChange'),
);
export const streamBeatSchema = shapeOf<StreamBeat>()(
  z.object({ readAt: instant.nullable() }).openapi('StreamBeat'),
);
export const streamReloadSchema = shapeOf<StreamReload>()(
  z.object({ why: z.enum(['slow', 'too-old', 'restored']) }).openapi('StreamReload'),
);
