/**
 * run_event: audit, explanation and outbox in one. Appended in the transaction of the change it tells of; most rows
 * are written by the statements that move a run (`runs.move`). Here are those that move nothing.
 */
import type { ReasonCode, RunId, TaskId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { json, rowInsert } from '../connection/rows.js';
import type { Fence } from '../fence.js';

export interface RunEvent {
  readonly tenantId: number;
  readonly runId: RunId | null;
  readonly taskId: TaskId | null;
  readonly type: string;
  readonly reasonCode: ReasonCode | null;
  readonly actor: string | null;
  readonly fence?: Omit<Fence, 'runId'>;
  readonly data?: unknown;
}

const rows = rowInsert<RunEvent>('run_event.insert', 'run_event', [
  // The clock moves on from row to row, so ids keep the order of the rows and lie behind no later statement's.
  { name: 'id', type: 'int', expression: 'headgate.uuid7()', value: () => 0 },
  { name: 'tenant_id', type: 'int', value: (e) => e.tenantId },
  { name: 'run_id', type: 'uuid', value: (e) => e.runId },
  { name: 'task_id', type: 'uuid', value: (e) => e.taskId },
  { name: 'type', type: 'text', value: (e) => e.type },
  { name: 'reason_code', type: 'text', value: (e) => e.reasonCode },
  { name: 'actor', type: 'text', value: (e) => e.actor },
  { name: 'fencing_token', type: 'bigint', value: (e) => e.fence?.fencingToken ?? null },
  { name: 'lease_id', type: 'uuid', value: (e) => e.fence?.leaseId ?? null },
  { name: 'data', type: 'jsonb', value: (e) => json(e.data) },
]);

export const runEvents = {
  append: (c: Connection, events: readonly RunEvent[]): Promise<number> => rows.insert(c, events),
};
