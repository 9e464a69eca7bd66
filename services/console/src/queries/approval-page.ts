/** Pages of what people are asked, and of what they have said, with the run that each is about. */
import { type ApprovalId, type ApprovalRequest, formatId, type RunId, type TaskId } from '@headgate/domain';
import type { ListedApproval, Page } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { type SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { approvalQuery } from '../schemas/index.js';
import { approvalAnswer } from './approvals.js';
import { pageOf } from './page.js';
import { list, rows } from './read.js';
import { REPOSITORY_OF_RUN } from './runs.js';

interface ApprovalRow extends ApprovalRequest {
  readonly runId: RunId;
  readonly taskId: TaskId;
  readonly tenant: string;
  readonly route: string;
  readonly repository: string | null;
  readonly workKey: string;
}

export async function approvalPageOf(
  c: Connection,
  query: z.infer<typeof approvalQuery>,
): Promise<Page<ListedApproval>> {
  // Open ones are at most seven days old, so they stand near the beginning.
  const filters: SQL[] = [];
  if (query.open !== undefined) {
    filters.push(query.open === 'true' ? sql`x.outcome is null` : sql`x.outcome is not null`);
  }
  const { ids, nextCursor } = await pageOf<ApprovalId>(c, {
    from: sql`headgate.approval x`,
    within: [],
    filters,
    columns: ['outcome'],
    limit: query.limit,
    cursor: query.cursor,
  });
  if (ids.length === 0) return { items: [], nextCursor };
  const found = await rows<ApprovalRow>(
    c,
    sql`select a.id, a.run_id as "runId", r.task_id as "taskId", t.key as tenant, r.route,
               ${REPOSITORY_OF_RUN} as repository, k.work_key as "workKey", a.subject,
               a.policy_version as "policyVersion", encode(a.result_hash, 'hex') as "resultSha256", a.operations,
               a.requester, a.four_eyes as "fourEyes", a.requested_at as "requestedAt", a.expires_at as "expiresAt",
               a.outcome, a.decided_at as "decidedAt", a.decided_by as "decidedBy", a.reason
          from headgate.approval a
          join headgate.run r on r.id = a.run_id
          join headgate.task k on k.id = r.task_id
          join headgate.tenant t on t.id = a.tenant_id
          left join headgate.repository p on p.id = r.repository_id
         where a.id = any (${list(ids, 'uuid')}) order by a.id desc`,
  );
  return {
    nextCursor,
    items: found.map(({ runId, taskId, tenant, route, repository, workKey, ...request }) => ({
      ...approvalAnswer(request),
      runId: formatId('run', runId),
      taskId: formatId('task', taskId),
      ...{ tenant, route, repository, workKey },
    })),
  };
}
