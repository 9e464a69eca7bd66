import type { Caller, Facets, Overview } from '@headgate/sdk';
import { instant, reasonCode, shapeOf, usd, z } from './shape.js';

export const callerSchema = shapeOf<Caller>()(
  z
    .object({
      name: z.string(),
      role: z.enum(['viewer', 'operator', 'approver', 'admin']),
      tenant: z.string().nullable(),
      version: z.string(),
    })
    .openapi('Caller'),
);

export const overviewSchema = shapeOf<Overview>()(
  z
    .object({
      at: instant,
      running: z.number().int(),
      slots: z.number().int(),
      liveWorkers: z.number().int(),
      waiting: z.object({
        total: z.number().int(),
        eligible: z.number().int(),
        notEligible: z.number().int(),
        reasons: z.array(z.object({ reasonCode, count: z.number().int() })),
        counted: z.number().int(),
      }),
      oldestReadyAt: instant.nullable(),
      spentTodayUsd: usd,
      dayLimitUsd: usd.nullable(),
    })
    .openapi('Overview'),
);

export const facetsSchema = shapeOf<Facets>()(
  z
    .object({
      tenants: z.array(z.string()),
      routes: z.array(z.string()),
      repositories: z.array(z.string()),
    })
    .openapi('Facets'),
);
