import type { Goal, GoalDetail, Observation } from '@headgate/sdk';
import { instant, orNull, pageOf, reasonCode, shapeOf, storableText, usd, z } from './shape.js';

const observation = shapeOf<Observation>()(
  z
    .object({
      id: z.string(),
      epoch: z.number().int(),
      number: z.number().int(),
      outcome: z.enum(['holds', 'open', 'unknown']),
      ref: z.string().nullable(),
      version: z.string().nullable(),
      result: z.unknown(),
      detail: z.string().nullable(),
      observedAt: instant,
      runId: z.string(),
      receiptId: z.string().nullable(),
    })
    .openapi('Observation'),
);

const goalShape = {
  id: z.string(),
  tenant: z.string(),
  route: z.string(),
  ordinal: z.number().int(),
  repository: z.string(),
  until: z.string(),
  observe: z.enum(['command', 'http']),
  cadence: z.string(),
  timezone: z.string(),
  stop: z.object({
    maxRuns: z.number().int(),
    deadlineMs: z.number(),
    noProgress: z.number().int(),
    maxCostUsd: usd.nullable(),
  }),
  state: z.enum(['active', 'paused', 'done', 'given-up']),
  stateAt: instant,
  stateBy: z.string().nullable(),
  reasonCode: orNull(reasonCode),
  note: z.string().nullable(),
  receiptId: z.string().nullable(),
  phase: z.enum(['idle', 'observing', 'working']),
  runId: z.string().nullable(),
  epoch: z.number().int(),
  startedAt: instant,
  deadlineAt: instant,
  nextAt: instant.nullable(),
  observations: z.number().int(),
  runs: z.number().int(),
  costUsd: usd,
  noProgress: z.number().int(),
  unknowns: z.number().int(),
};

const goalSchema = shapeOf<Goal>()(z.object(goalShape).openapi('Goal'));
export const goalPage = pageOf(goalSchema, 'GoalPage');
export const goalDetailSchema = shapeOf<GoalDetail>()(
  z.object({ ...goalShape, recent: z.array(observation) }).openapi('GoalDetail'),
);
export const resetGoalBody = z
  .strictObject({ reason: storableText(2_000).optional() })
  .openapi('ResetGoalRequest');
