/** Limits of one run, of the whole installation, of a tenant; budgets; retention; capabilities. */
import { z } from 'zod';
import { complain, say } from './complaint.js';
import { count, duration, risk, size, text, usd } from './scalars.js';
import { timezone } from './schedules.js';
import { strict } from './strict.js';

const DAY_MS = 86_400_000;
const stage = duration({ minMs: 1_000, maxMs: 7 * DAY_MS });

export const runLimits = strict(null, {
  wallClock: stage.optional(),
  sandboxStart: stage.optional(),
  silence: stage.optional(),
  verify: stage.optional(),
  finalize: stage.optional(),
  output: size
    .refine((bytes) => bytes >= 1024, { error: say('less than 1KB of output', 'Write at least 1KB.') })
    .optional(),
  changedFiles: count(1, 100_000).optional(),
  diffLines: count(1, 10_000_000).optional(),
  costUsd: usd.optional(),
});

const MAX_SLOTS = 100_000;

export const globalLimits = strict(null, {
  maxActive: count(1, MAX_SLOTS).optional(),
  maxActivePerRepository: count(1, MAX_SLOTS).optional(),
  maxActivePerUser: count(1, MAX_SLOTS).optional(),
  maxActiveByRisk: z.partialRecord(risk, count(0, MAX_SLOTS)).optional(),
  maxActiveByProvider: z.record(text(63), count(0, MAX_SLOTS)).optional(),
});

export const tenant = strict('tenant', {
  weight: z
    .number({ error: say('the weight is not a number', 'Write 1, or 2 for twice the share.') })
    .min(0.01, { error: say('the weight is below 0.01', 'Suspend the tenant instead: suspended: true.') })
    .max(1000, { error: say('the weight is above 1000', 'Weights are relative: lower the others.') })
    .optional(),
  timezone: timezone.optional(),
  suspended: z.boolean().optional(),
  requireApprovalFor: z.array(risk).optional(),
  fourEyes: z.boolean().optional(),
  limits: strict('tenantLimits', {
    maxActive: count(0, MAX_SLOTS).optional(),
    maxQueued: count(0, 10_000_000).optional(),
  }).optional(),
});

const rate = strict(null, {
  runs: count(1, 100_000),
  within: duration({ minMs: 60_000, maxMs: 31 * DAY_MS }),
});

/** What keeps our own runs from causing each other. A rate of false is none. */
export const loopGuard = strict(null, {
  maxHops: count(0, 100).optional(),
  maxRunsSinceHuman: count(1, 1_000).optional(),
  perTarget: z.union([z.literal(false), rate]).optional(),
  perActor: z.union([z.literal(false), rate]).optional(),
});

export const budgets = strict(null, {
  perRunUsd: usd.optional(),
  perDayUsd: usd.optional(),
}).superRefine(({ perRunUsd, perDayUsd }, context) => {
  if (perRunUsd !== undefined && perDayUsd !== undefined && perRunUsd > perDayUsd) {
    complain(
      context,
      {
        message: `a run may cost ${perRunUsd} USD, more than a day, ${perDayUsd} USD`,
        fix: 'Lower one or raise the other.',
      },
      ['perRunUsd'],
    );
  }
});

const kept = duration({ minMs: DAY_MS, maxMs: 3650 * DAY_MS }).refine((ms) => ms % DAY_MS === 0, {
  error: say('retention is counted in whole days', 'Write it as 90d.'),
});

export const retention = strict(null, {
  receipts: kept.optional(),
  payloads: kept.optional(),
  events: kept.optional(),
  history: kept.optional(),
});

const capability = z.union([
  z.string().min(1).max(200),
  z.number(),
  z.boolean(),
  z.array(z.string().min(1).max(200)).max(50),
]);

/** `{ node: ">=20", network: true, languages: [go, node] }` */
export const capabilities = z.record(
  z.string().regex(/^[a-zA-Z][a-zA-Z0-9_.-]{0,62}$/, {
    error: ({ input }) =>
      say(`"${String(input)}" is not a capability`, 'Use letters, digits, "-", "_" and ".".'),
  }),
  capability,
);
