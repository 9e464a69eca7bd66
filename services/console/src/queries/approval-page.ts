/** Pages of what people are asked, and of what they have said, with the run that each is about. */
import type { ApprovalId, ApprovalRequest } from '@headgate/domain';
import type { ListedApproval, Page } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { type SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { approvalQuery } from '../schemas/index.js';
import { ABOUT_RUN, type AboutRunRow, aboutRun, JOINED_RUN } from './about-run.js';
import { approvalAnswer } from './approvals.js';
import { pageOf } from './page.js';
import { list, rows } from './read.js';

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
  const found = await rows<ApprovalRequest & AboutRunRow>(
    c,
    sql`select ${ABOUT_RUN}, x.id, x.subject, x.policy_version as "policyVersion",
               encode(x.result_hash, 'hex') as "resultSha256", x.operations, x.requester, x.four_eyes as "fourEyes",
               x.requested_at as "requestedAt", x.expires_at as "expiresAt", x.outcome, x.decided_at as "decidedAt",
               x.decided_by as "decidedBy", x.reason
          from headgate.approval x ${JOINED_RUN}
         where x.id = any (${list(ids, 'uuid')}) order by x.id desc`,
  );
  return { nextCursor, items: found.map((row) => ({ ...approvalAnswer(row), ...aboutRun(row) })) };
}
