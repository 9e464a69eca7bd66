/** What a run was made of, as far as it takes to ask for the same again. */
import type { ReceiptId, RunId, RunSpec, RunStatus, TaskId } from '@headgate/domain';
import type { Connection } from '@headgate/store';
import { type SQL, sql } from 'drizzle-orm';
import { rows } from '../queries/index.js';

export interface AgainSource {
  readonly runId: RunId;
  readonly taskId: TaskId;
  readonly receiptId: ReceiptId;
  readonly receiptType: string | null;
  readonly tenant: string;
  readonly workKey: string;
  readonly taskGeneration: number;
  readonly status: RunStatus;
  readonly route: string;
  readonly inputVersion: string;
  readonly sourceAt: Date | null;
  readonly parentVersions: string[];
  readonly concurrencyKey: string | null;
  readonly spec: RunSpec;
  readonly repositoryId: string | null;
  readonly repositoryName: string | null;
  readonly defaultBranch: string | null;
  /** Runs of the task that have not ended. */
  readonly live: RunId[];
}

export const runSource = (c: Connection, runId: RunId): Promise<AgainSource | null> =>
  one(c, sql`r.id = ${runId}::uuid`);

/** The task's newest run. */
export const newestSource = (c: Connection, taskId: TaskId): Promise<AgainSource | null> =>
  one(c, sql`r.task_id = ${taskId}::uuid`);

async function one(c: Connection, condition: SQL): Promise<AgainSource | null> {
  const [row] = await rows<AgainSource>(
    c,
    sql`select r.id as "runId", r.task_id as "taskId", r.receipt_id as "receiptId", d.type as "receiptType",
               t.key as tenant, k.work_key as "workKey", k.generation as "taskGeneration", r.status, r.route,
               r.input_version as "inputVersion", r.source_at as "sourceAt", r.parent_versions as "parentVersions",
               r.concurrency_key as "concurrencyKey", r.spec, p.external_id as "repositoryId",
               p.full_name as "repositoryName", p.default_branch as "defaultBranch",
               array(select v.run_id from headgate.task_version v
                      where v.task_id = r.task_id and v.outcome is null) as live
          from headgate.run r
          join headgate.task k on k.id = r.task_id
          join headgate.tenant t on t.id = r.tenant_id
          left join headgate.receipt d on d.id = r.receipt_id
          left join headgate.repository p on p.id = r.repository_id
         where ${condition} order by r.id desc limit 1`,
  );
  return row ?? null;
}
