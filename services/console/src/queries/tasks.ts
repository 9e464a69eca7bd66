import {
  formatId,
  formatIdOrNull,
  hashWorkKey,
  type Outcome,
  publicStatus,
  type ReasonCode,
  type ReceiptId,
  type RunId,
  type RunStatus,
  type TaskId,
} from '@headgate/domain';
import type { Page, Task, TaskDetail, TaskSignal } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { type SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { taskQuery } from '../schemas/index.js';
import { instantOf, instantOrNull } from './instants.js';
import { between, pageOf } from './page.js';
import { list, rows } from './read.js';
import { runAnswers } from './runs.js';
import type { WaitingReader } from './waiting.js';

interface TaskRow {
  readonly id: TaskId;
  readonly tenant: string;
  readonly workKey: string;
  readonly generation: number;
  readonly publication: number;
  readonly latestVersion: string | null;
  readonly nextVersion: string | null;
  readonly nextReceiptId: ReceiptId | null;
  readonly cancelledAt: Date | null;
  readonly cancelledBy: string | null;
  readonly createdAt: Date;
  readonly runId: RunId | null;
  readonly runStatus: RunStatus | null;
}

async function taskAnswers(c: Connection, ids: readonly TaskId[]): Promise<Task[]> {
  if (ids.length === 0) return [];
  const found = await rows<TaskRow>(
    c,
    sql`select k.id, t.key as tenant, k.work_key as "workKey", k.generation, k.publication,
               k.latest_version as "latestVersion", k.next_version as "nextVersion",
               k.next_receipt_id as "nextReceiptId", k.cancelled_at as "cancelledAt",
               k.cancelled_by as "cancelledBy", k.created_at as "createdAt", newest.id as "runId",
               newest.status as "runStatus"
          from headgate.task k
          join headgate.tenant t on t.id = k.tenant_id
          left join lateral (
            select r.id, r.status from headgate.run r where r.task_id = k.id order by r.id desc limit 1) newest on true
         where k.id = any (${list(ids, 'uuid')})
         order by k.id desc`,
  );
  return found.map((row) => ({
    id: formatId('task', row.id),
    tenant: row.tenant,
    workKey: row.workKey,
    generation: row.generation,
    publication: row.publication,
    latestVersion: row.latestVersion,
    nextVersion: row.nextVersion,
    nextReceiptId: formatIdOrNull('rcpt', row.nextReceiptId),
    cancelledAt: instantOrNull(row.cancelledAt),
    cancelledBy: row.cancelledBy,
    createdAt: instantOf(row.createdAt),
    latestRun:
      row.runId === null || row.runStatus === null
        ? null
        : {
            id: formatId('run', row.runId),
            status: row.runStatus,
            publicStatus: publicStatus(row.runStatus),
          },
  }));
}

export async function taskPageOf(c: Connection, query: z.infer<typeof taskQuery>): Promise<Page<Task>> {
  const time = between(query.since, query.until);
  const within: SQL[] = [...time.within];
  if (query.workKey !== undefined) {
    within.push(sql`x.key_hash = ${hashWorkKey(query.workKey)} and x.work_key = ${query.workKey}`);
  }
  const { ids, nextCursor } = await pageOf<TaskId>(c, {
    from: sql`headgate.task x`,
    within,
    filters: time.filters,
    columns: ['created_at'],
    limit: query.limit,
    cursor: query.cursor,
  });
  return { items: await taskAnswers(c, ids), nextCursor };
}

const MAX_RUNS = 50;
const MAX_SIGNALS = 100;

/** Null: no such task, or not the caller's. */
export async function taskDetail(
  c: Connection,
  waiting: WaitingReader,
  taskId: TaskId,
): Promise<TaskDetail | null> {
  const [task] = await taskAnswers(c, [taskId]);
  if (task === undefined) return null;
  const runIds = await rows<{ id: RunId }>(
    c,
    sql`select id from headgate.run where task_id = ${taskId}::uuid order by id desc limit ${MAX_RUNS}`,
  );
  return {
    ...task,
    runs: await runAnswers(
      c,
      waiting,
      runIds.map((row) => row.id),
    ),
    signals: await signalsOf(c, taskId),
  };
}

async function signalsOf(c: Connection, taskId: TaskId): Promise<TaskSignal[]> {
  const found = await rows<{
    receiptId: ReceiptId;
    runId: RunId | null;
    source: string;
    type: string;
    outcome: Outcome;
    reasonCode: ReasonCode;
    at: Date;
  }>(
    c,
    sql`select s.receipt_id as "receiptId", s.run_id as "runId", x.source, x.type, x.outcome,
               x.reason_code as "reasonCode", x.created_at as at
          from headgate.task_signal s join headgate.receipt x on x.id = s.receipt_id
         where s.task_id = ${taskId}::uuid
         order by s.receipt_id desc limit ${MAX_SIGNALS}`,
  );
  return found.map((row) => ({
    ...row,
    receiptId: formatId('rcpt', row.receiptId),
    runId: formatIdOrNull('run', row.runId),
    at: instantOf(row.at),
  }));
}
