import type { DeadLetter, Queue, SourceStanding, Worker } from '@headgate/sdk';
import { aboutRunFields, instant, pageOf, pageQuery, reasonCode, shapeOf, z } from './shape.js';

const workerState = z.enum(['STARTING', 'READY', 'DRAINING', 'STOPPED', 'DEAD']);

export const workerSchema = shapeOf<Worker>()(
  z
    .object({
      id: z.string(),
      name: z.string(),
      state: workerState,
      isLive: z.boolean(),
      capabilities: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])),
      queues: z.array(z.string()),
      slots: z.number().int(),
      held: z.number().int(),
      host: z.string(),
      pid: z.number().int(),
      version: z.string(),
      registeredAt: instant,
      heartbeatAt: instant,
      stoppedAt: instant.nullable(),
    })
    .openapi('Worker'),
);
export const workerPage = pageOf(workerSchema, 'WorkerPage');
export const workerQuery = z.strictObject({ ...pageQuery, state: workerState.optional() });

export const queueSchema = shapeOf<Queue>()(
  z
    .object({
      id: z.string(),
      risk: z.array(z.enum(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'])),
      ready: z.number().int(),
      delayed: z.number().int(),
      dispatched: z.number().int(),
      running: z.number().int(),
      oldestReadyAt: instant.nullable(),
      liveWorkers: z.number().int(),
      slots: z.number().int(),
      hints: z
        .object({ waiting: z.number().int(), active: z.number().int(), foreign: z.number().int() })
        .nullable(),
    })
    .openapi('Queue'),
);
export const queuePage = pageOf(queueSchema, 'QueuePage');

const sourceSchema = shapeOf<SourceStanding>()(
  z
    .object({
      tenant: z.string(),
      source: z.string(),
      repository: z.string(),
      outcome: z.enum(['never', 'looked', 'denied', 'limited', 'unavailable']),
      detail: z.string().nullable(),
      failures: z.number().int(),
      lookedAt: instant.nullable(),
      nextAt: instant,
      silentSince: instant.nullable(),
      silentCount: z.number().int(),
    })
    .openapi('SourceStanding'),
);
export const sourcePage = pageOf(sourceSchema, 'SourcePage');

export const deadLetterSchema = shapeOf<DeadLetter>()(
  z
    .object({
      id: z.string(),
      ...aboutRunFields,
      reasonCode,
      message: z.string(),
      owner: z.string().nullable(),
      evidence: z.unknown(),
      createdAt: instant,
      resolvedAt: instant.nullable(),
      resolvedBy: z.string().nullable(),
    })
    .openapi('DeadLetter'),
);
export const deadLetterPage = pageOf(deadLetterSchema, 'DeadLetterPage');
export const deadLetterQuery = z.strictObject({
  ...pageQuery,
  resolved: z.enum(['true', 'false']).optional(),
});

export const plainPageQuery = z.strictObject(pageQuery);
