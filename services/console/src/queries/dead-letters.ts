import {
  type DeadLetterId,
  formatId,
  isReasonCode,
  messageOf,
  type ReasonCode,
  type RunId,
  type TaskId,
} from '@headgate/domain';
import type { DeadLetter, Page } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { type SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { deadLetterQuery } from '../schemas/index.js';
import { instantOf, instantOrNull } from './instants.js';
import { pageOf } from './page.js';
import { list, rows } from './read.js';
import { REPOSITORY_OF_RUN } from './runs.js';

interface DeadLetterRow {
  readonly id: DeadLetterId;
  readonly runId: RunId;
  readonly taskId: TaskId;
  readonly tenant: string;
  readonly route: string;
  readonly repository: string | null;
  readonly workKey: string;
  readonly reasonCode: ReasonCode;
  readonly detail: string | null;
  readonly owner: string | null;
  readonly evidence: unknown;
  readonly createdAt: Date;
  readonly resolvedAt: Date | null;
  readonly resolvedBy: string | null;
}

export async function deadLetterPageOf(
  c: Connection,
  query: z.infer<typeof deadLetterQuery>,
): Promise<Page<DeadLetter>> {
  const filters: SQL[] = [];
  if (query.resolved !== undefined) {
    filters.push(query.resolved === 'true' ? sql`x.resolved_at is not null` : sql`x.resolved_at is null`);
  }
  const { ids, nextCursor } = await pageOf<DeadLetterId>(c, {
    from: sql`headgate.dead_letter x`,
    within: [],
    filters,
    columns: ['resolved_at'],
    limit: query.limit,
    cursor: query.cursor,
  });
  if (ids.length === 0) return { items: [], nextCursor };
  const found = await rows<DeadLetterRow>(
    c,
    sql`select d.id, d.run_id as "runId", r.task_id as "taskId", t.key as tenant, r.route,
               ${REPOSITORY_OF_RUN} as repository, k.work_key as "workKey", d.reason_code as "reasonCode",
               r.reason_detail as detail, d.owner, d.evidence, d.created_at as "createdAt",
               d.resolved_at as "resolvedAt", d.resolved_by as "resolvedBy"
          from headgate.dead_letter d
          join headgate.run r on r.id = d.run_id
          join headgate.task k on k.id = r.task_id
          join headgate.tenant t on t.id = d.tenant_id
          left join headgate.repository p on p.id = r.repository_id
         where d.id = any (${list(ids, 'uuid')}) order by d.id desc`,
  );
  return {
    nextCursor,
    items: found.map(({ detail, ...row }) => ({
      ...row,
      id: formatId('dl', row.id),
      runId: formatId('run', row.runId),
      taskId: formatId('task', row.taskId),
      message: [isReasonCode(row.reasonCode) ? messageOf(row.reasonCode) : '', detail ?? ''].join(' ').trim(),
      createdAt: instantOf(row.createdAt),
      resolvedAt: instantOrNull(row.resolvedAt),
    })),
  };
}
