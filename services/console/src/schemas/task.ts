import type { Task, TaskDetail } from '@headgate/sdk';
import { outcome } from './receipt.js';
import { publicStatusSchema, runSchema, runStatus } from './run.js';
import { filterText, instant, pageOf, pageQuery, reasonCode, shapeOf, timeQuery, z } from './shape.js';

const taskShape = {
  id: z.string(),
  tenant: z.string(),
  workKey: z.string(),
  generation: z.number().int(),
  publication: z.number().int(),
  latestVersion: z.string().nullable(),
  nextVersion: z.string().nullable(),
  nextReceiptId: z.string().nullable(),
  cancelledAt: instant.nullable(),
  cancelledBy: z.string().nullable(),
  createdAt: instant,
  latestRun: z.object({ id: z.string(), status: runStatus, publicStatus: publicStatusSchema }).nullable(),
};

export const taskSchema = shapeOf<Task>()(z.object(taskShape).openapi('Task'));
export const taskPage = pageOf(taskSchema, 'TaskPage');

export const taskDetailSchema = shapeOf<TaskDetail>()(
  z
    .object({
      ...taskShape,
      runs: z.array(runSchema),
      signals: z.array(
        z.object({
          receiptId: z.string(),
          runId: z.string().nullable(),
          source: z.string(),
          type: z.string(),
          outcome,
          reasonCode,
          at: instant,
        }),
      ),
    })
    .openapi('TaskDetail'),
);

export const taskQuery = z.strictObject({ ...pageQuery, ...timeQuery, workKey: filterText });
