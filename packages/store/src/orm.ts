/**
 * drizzle over one of our connections, for the console's reads: lists, filters, pages.
 *
 * The tables are described here for types and for reading. Migrations are SQL by hand (a test holds the two equal),
 * and every statement that writes or locks stands beside its table, named.
 */
import { drizzle } from 'drizzle-orm/node-postgres';
import type { Connection } from './connection/connection.js';
import * as schema from './schema/index.js';

export { schema };

/**
 * Runs in the connection's transaction, so with the tenants set there:
 * `pool.transaction((c) => orm(c).select().from(schema.runs).limit(50), { tenants })`.
 */
export const orm = (connection: Connection) => drizzle({ client: connection.client, schema });
export type Orm = ReturnType<typeof orm>;
