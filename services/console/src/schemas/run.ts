import { OPERATION_KINDS, OPERATION_STATES, PUBLIC_STATUSES, RUN_STATUSES } from '@headgate/domain';
import type { Artifact, Run, RunDetail, RunResult, Waiting } from '@headgate/sdk';
import { approvalSchema, runActionSchema } from './approval.js';
import { feedbackSchema } from './receipt.js';
import {
  filterText,
  idsText,
  instant,
  orNull,
  pageOf,
  pageQuery,
  reasonCode,
  shapeOf,
  storableText,
  timeQuery,
  usd,
  z,
} from './shape.js';

export const runStatus = z.enum(RUN_STATUSES).openapi('RunStatus');
export const publicStatusSchema = z.enum(PUBLIC_STATUSES).openapi('PublicStatus');

export const waitingSchema = shapeOf<Waiting>()(
  z
    .object({
      reasonCode,
      message: z.string(),
      since: instant,
      until: instant.nullable(),
      numbers: z.record(z.string(), z.number()),
      wouldStartWhen: z.string(),
    })
    .openapi('Waiting'),
);

const runShape = {
  id: z.string(),
  taskId: z.string(),
  receiptId: z.string(),
  tenant: z.string(),
  route: z.string(),
  repository: z.string().nullable(),
  agent: z.string(),
  mode: z.enum(['observe', 'propose', 'act']),
  kind: z.enum(['work', 'observation']),
  workKey: z.string(),
  inputVersion: z.string(),
  generation: z.number().int(),
  status: runStatus,
  publicStatus: publicStatusSchema,
  reasonCode: orNull(reasonCode),
  statusAt: instant,
  createdAt: instant,
  startedAt: instant.nullable(),
  finishedAt: instant.nullable(),
  attempt: z.number().int(),
  branch: z.string().nullable(),
  queue: z.string(),
  priority: z.number().int(),
  concurrencyKey: z.string().nullable(),
  policyVersion: z.number().int(),
  limits: z.object({
    wallClockMs: z.number(),
    sandboxStartMs: z.number(),
    silenceMs: z.number(),
    verifyMs: z.number(),
    finalizeMs: z.number(),
    outputBytes: z.number(),
    changedFiles: z.number(),
    diffLines: z.number(),
    costUsd: usd.nullable(),
  }),
  cost: z.object({
    estimatedUsd: usd.nullable(),
    actualUsd: usd,
    maxUsd: usd.nullable(),
    exceededAt: instant.nullable(),
  }),
  waiting: orNull(waitingSchema),
};

export const runSchema = shapeOf<Run>()(z.object(runShape).openapi('Run'));
export const runPage = pageOf(runSchema, 'RunPage');

const attemptLease = z
  .object({
    acquiredAt: instant,
    expiresAt: instant.nullable(),
    renewedAt: instant.nullable(),
    beatMs: z.number().nullable().openapi({
      description: 'Mean distance of the renewals: heartbeats leave no row each. Null before the first',
    }),
    renewals: z.number().int().nullable(),
    releasedAt: instant.nullable(),
    lostAt: instant.nullable(),
  })
  .openapi('AttemptLease');

export const runDetailSchema = shapeOf<RunDetail>()(
  z
    .object({
      ...runShape,
      actions: z.array(runActionSchema),
      approval: orNull(approvalSchema),
      lease: z.object({ acquiredAt: instant, expiresAt: instant, renewUntil: instant }).nullable(),
      attempts: z.array(
        z.object({
          id: z.string(),
          number: z.number().int(),
          workerId: z.string(),
          leaseId: z.string(),
          fencingToken: z.string(),
          status: z.enum(['running', 'succeeded', 'failed', 'cancelled', 'lost', 'released']),
          reasonCode: orNull(reasonCode),
          detail: z.string().nullable(),
          startedAt: instant,
          finishedAt: instant.nullable(),
          costUsd: usd,
          lease: attemptLease,
          evidence: z.unknown(),
        }),
      ),
      operations: z.array(
        z.object({
          key: z.string(),
          kind: z.enum(OPERATION_KINDS),
          status: z.enum(OPERATION_STATES),
          externalId: z.string().nullable(),
          url: z.string().nullable(),
          tries: z.number().int(),
          detail: z.string().nullable(),
          intendedAt: instant,
          attemptedAt: instant.nullable(),
          settledAt: instant.nullable(),
        }),
      ),
      usage: z
        .object({
          models: z.array(z.string()),
          inputTokens: z.number(),
          outputTokens: z.number(),
          toolMs: z.number(),
          cpuMs: z.number(),
          artifactBytes: z.number(),
          providerCalls: z.number(),
          costUsd: usd,
          byModel: z.array(
            z.object({
              model: z.string().nullable(),
              inputTokens: z.number(),
              outputTokens: z.number(),
              costUsd: usd,
            }),
          ),
        })
        .nullable(),
      events: z.array(
        z.object({
          id: z.string(),
          at: instant,
          type: z.string(),
          from: orNull(runStatus),
          to: orNull(runStatus),
          reasonCode: orNull(reasonCode),
          actor: z.string().nullable(),
          attempt: z.number().int().nullable(),
          fencingToken: z.string().nullable(),
        }),
      ),
      lineage: z.object({
        hops: z.number().int(),
        chainRuns: z.number().int(),
        rootReceiptId: z.string(),
      }),
      promptDigest: z.string().nullable(),
      reasonMessage: z.string().nullable(),
      feedback: orNull(feedbackSchema),
    })
    .openapi('RunDetail'),
);

export const runQuery = z.strictObject({
  ...pageQuery,
  ...timeQuery,
  status: runStatus.optional(),
  publicStatus: publicStatusSchema.optional(),
  route: filterText,
  repository: filterText,
  tenant: filterText,
  workKey: filterText,
  taskId: filterText,
  waitingReason: reasonCode
    .optional()
    .openapi({ description: 'Waits for this reason now; READY = only for its turn' }),
  ids: idsText.openapi({ description: 'These runs, at most 200, separated by commas' }),
});

export const artifactSchema = shapeOf<Artifact>()(
  z
    .object({
      id: z.string(),
      runId: z.string(),
      attempt: z.number().int(),
      name: z.string(),
      bytes: z.number(),
      sha256: z.string(),
      mediaType: z.string(),
      createdAt: instant,
      url: z.string(),
    })
    .openapi('Artifact'),
);
export const artifactPage = pageOf(artifactSchema, 'ArtifactPage');
export const artifactQuery = z.strictObject({ attempt: z.coerce.number().int().min(1).optional() });

export const runResultSchema = shapeOf<RunResult>()(
  z
    .object({
      runId: z.string(),
      verdict: z.enum(['changes', 'no-change']),
      baseVersion: z.string(),
      commitSha: z.string().nullable(),
      bytes: z.number(),
      sha256: z.string(),
      sealedAt: instant,
      summary: z.string().nullable(),
      verification: z.unknown(),
      patch: orNull(artifactSchema),
    })
    .openapi('RunResult'),
);

export const cancelBody = z.strictObject({ reason: storableText(1_000).optional() }).openapi('CancelRequest');
export const againBody = z
  .strictObject({ cancelLive: z.boolean().default(false), reason: storableText(1_000).optional() })
  .openapi('AgainRequest');
