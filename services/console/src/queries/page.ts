/**
 * Pages of a table, newest first by its UUIDv7. The cursor is the last id seen, so rows that arrive meanwhile shift
 * nothing: they stand before the first page.
 *
 * A filter that matches little must not read a whole table for one page: ids are looked through in bounded stretches,
 * and a page that found few in its stretch is short and goes on with a cursor.
 */
import type { Connection } from '@headgate/store';
import { type SQL, sql } from 'drizzle-orm';
import { badRequest } from '../http/problems.js';
import { allOf, rows } from './read.js';

export interface PageOf<Id extends string> {
  readonly ids: readonly Id[];
  readonly nextCursor: string | null;
}

export interface PageQuestion {
  /** Table or join, with the paged table as `x`. */
  readonly from: SQL;
  /** What an index finds; asked while looking through ids. */
  readonly within: readonly SQL[];
  /** What is left to compare, on the same row. */
  readonly filters: readonly SQL[];
  /** Columns that the filters read. */
  readonly columns: readonly string[];
  readonly limit: number;
  readonly cursor: string | undefined;
}

/** Rows looked through for one page at most. */
const MAX_LOOKED_AT = 5_000;
const CURSOR = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export async function pageOf<Id extends string>(c: Connection, question: PageQuestion): Promise<PageOf<Id>> {
  const { limit, filters } = question;
  const found: Id[] = [];
  let after = question.cursor === undefined ? null : readCursor(question.cursor);
  // Without filters the first stretch is the page. With some, a short stretch is often enough.
  let stretch = filters.length === 0 ? limit + 1 : Math.min(MAX_LOOKED_AT, limit * 4);
  for (let lookedAt = 0; ; ) {
    const seen = await lookThrough<Id>(c, question, after, stretch);
    found.push(...seen.filter((row) => row.matches).map((row) => row.id));
    lookedAt += seen.length;
    if (found.length > limit) {
      const ids = found.slice(0, limit);
      return { ids, nextCursor: writeCursor(ids.at(-1)) };
    }
    if (seen.length < stretch) return { ids: found, nextCursor: null };
    after = seen.at(-1)?.id ?? null;
    if (lookedAt >= MAX_LOOKED_AT) return { ids: found, nextCursor: writeCursor(after) };
    stretch = Math.min(MAX_LOOKED_AT - lookedAt, stretch * 4);
  }
}

function lookThrough<Id extends string>(
  c: Connection,
  { from, within, filters, columns }: PageQuestion,
  after: string | null,
  limit: number,
): Promise<{ id: Id; matches: boolean }[]> {
  const conditions = after === null ? within : [...within, sql`x.id < ${after}::uuid`];
  const picked = sql.raw(['x.id', ...columns.map((column) => `x.${column}`)].join(', '));
  return rows<{ id: Id; matches: boolean }>(
    c,
    sql`select x.id, coalesce(${allOf(filters)}, false) as matches
          from (select ${picked} from ${from} where ${allOf(conditions)} order by x.id desc limit ${limit}) x
         order by x.id desc`,
  );
}

/** The cursor behind a row. */
export const writeCursor = (id: string | null | undefined): string | null =>
  id == null ? null : Buffer.from(id, 'utf8').toString('base64url');

function readCursor(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString('utf8');
  if (!CURSOR.test(id)) {
    throw badRequest('query.cursor: it is not a cursor of this API; take nextCursor of a page, unchanged.');
  }
  return id;
}

/** Of a time: what bounds the index, and what decides. */
export interface Between {
  readonly within: readonly SQL[];
  readonly filters: readonly SQL[];
}

/**
 * Created at or after, and before. Ids are drawn by the clock of who stores them, a moment before they are stored: they
 * bound the index a little wider than the times that decide. Those are compared like any other filter, in stretches: a
 * busy minute at the edge is not read for one page.
 */
export function between(since: string | undefined, until: string | undefined): Between {
  const within: SQL[] = [];
  const filters: SQL[] = [];
  if (since !== undefined) {
    within.push(sql`x.id >= headgate.uuid7_floor(${since}::timestamptz - ${CLOCKS_APART}::interval)`);
    filters.push(sql`x.created_at >= ${since}::timestamptz`);
  }
  if (until !== undefined) {
    within.push(sql`x.id < headgate.uuid7_floor(${until}::timestamptz + ${CLOCKS_APART}::interval)`);
    filters.push(sql`x.created_at < ${until}::timestamptz`);
  }
  return { within, filters };
}

/** `headgate doctor` complains of seconds; a transaction is tried again for less than a minute. */
const CLOCKS_APART = '5 minutes';
