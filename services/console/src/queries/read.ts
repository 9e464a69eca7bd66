/**
 * The console's reads: in one transaction as `headgate_api`, with the caller's tenants set. Row level security decides
 * what is there; no statement here has to remember to.
 *
 * Filters are put together with drizzle's `sql`, so that every value is a parameter. The hot statements of other
 * services are the store's named ones; these run as often as people look.
 */
import type { ServiceContext } from '@headgate/service';
import type { Connection } from '@headgate/store';
import { type SQL, sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { Caller } from '../auth/index.js';

const dialect = new PgDialect();

/** `Row` says what the query picks. */
export async function rows<Row extends object>(c: Connection, query: SQL): Promise<Row[]> {
  const { sql: text, params } = dialect.sqlToQuery(query);
  return (await c.query(text, params)) as Row[];
}

export const inScope = <T>(
  context: ServiceContext,
  caller: Caller,
  read: (c: Connection) => Promise<T>,
): Promise<T> => context.database.api.transaction(read, { tenants: caller.tenants });

/** A list as one parameter: `id = any (${list(ids, 'uuid')})`. */
export const list = (values: readonly (string | number)[], type: 'uuid' | 'text' | 'int'): SQL =>
  sql`${sql.param([...values])}::${sql.raw(type)}[]`;

export const allOf = (conditions: readonly SQL[]): SQL =>
  conditions.length === 0 ? sql`true` : sql.join([...conditions], sql` and `);
