import type { Page, SourceStanding } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { sql } from 'drizzle-orm';
import { instantOf, instantOrNull } from './instants.js';
import { rows } from './read.js';

type Row = Omit<SourceStanding, 'lookedAt' | 'nextAt' | 'silentSince'> & {
  readonly lookedAt: Date | null;
  readonly nextAt: Date;
  readonly silentSince: Date | null;
};

/** As many as a page may hold; those with trouble first. */
const MOST = 200;

export async function sourceStandings(c: Connection): Promise<Page<SourceStanding>> {
  const found = await rows<Row>(
    c,
    sql`select t.key as tenant, w.source, w.repository, w.outcome, w.detail, w.failures, w.looked_at as "lookedAt",
               w.next_at as "nextAt", w.silent_since as "silentSince", w.silent_count as "silentCount"
          from headgate.watermark w join headgate.tenant t on t.id = w.tenant_id
         order by w.silent_since is null, w.failures desc, t.key, w.source, w.repository limit ${MOST}`,
  );
  return {
    nextCursor: null,
    items: found.map((row) => ({
      ...row,
      lookedAt: instantOrNull(row.lookedAt),
      nextAt: instantOf(row.nextAt),
      silentSince: instantOrNull(row.silentSince),
    })),
  };
}
