/** The run that a row of another table is about: what lists name it by. */
import { formatId, type RunId, type TaskId } from '@headgate/domain';
import type { AboutRun } from '@headgate/sdk';
import { sql } from 'drizzle-orm';
import { REPOSITORY_OF_RUN } from './runs.js';

export interface AboutRunRow {
  readonly runId: RunId;
  readonly taskId: TaskId;
  readonly tenant: string;
  readonly route: string;
  readonly repository: string | null;
  readonly workKey: string;
}

/** Of a table `x` with `run_id` and `tenant_id`; the run is `r`. */
export const JOINED_RUN = sql`
  join headgate.run r on r.id = x.run_id
  join headgate.task k on k.id = r.task_id
  join headgate.tenant t on t.id = x.tenant_id
  left join headgate.repository p on p.id = r.repository_id`;

export const ABOUT_RUN = sql`r.id as "runId", r.task_id as "taskId", t.key as tenant, r.route,
  ${REPOSITORY_OF_RUN} as repository, k.work_key as "workKey"`;

export const aboutRun = ({ runId, taskId, tenant, route, repository, workKey }: AboutRunRow): AboutRun => ({
  runId: formatId('run', runId),
  taskId: formatId('task', taskId),
  ...{ tenant, route, repository, workKey },
});
