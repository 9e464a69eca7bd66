import { type DeadLetterId, formatId, isReasonCode, messageOf, type ReasonCode } from '@headgate/domain';
import type { DeadLetter, Page } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { type SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { deadLetterQuery } from '../schemas/index.js';
import { ABOUT_RUN, type AboutRunRow, aboutRun, JOINED_RUN } from './about-run.js';
import { instantOf, instantOrNull } from './instants.js';
import { pageOf } from './page.js';
import { list, rows } from './read.js';

interface DeadLetterRow extends AboutRunRow {
  readonly id: DeadLetterId;
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
    sql`select ${ABOUT_RUN}, x.id, x.reason_code as "reasonCode", r.reason_detail as detail, x.owner, x.evidence,
               x.created_at as "createdAt", x.resolved_at as "resolvedAt", x.resolved_by as "resolvedBy"
          from headgate.dead_letter x ${JOINED_RUN}
         where x.id = any (${list(ids, 'uuid')}) order by x.id desc`,
  );
  return {
    nextCursor,
    items: found.map(({ detail, ...row }) => ({
      ...row,
      ...aboutRun(row),
      id: formatId('dl', row.id),
      message: [isReasonCode(row.reasonCode) ? messageOf(row.reasonCode) : '', detail ?? ''].join(' ').trim(),
      createdAt: instantOf(row.createdAt),
      resolvedAt: instantOrNull(row.resolvedAt),
    })),
  };
}
