/** What `headgate doctor` and `headgate up` want to know about a Postgres before they rely on it. */
import pg from 'pg';

export interface PostgresFacts {
  readonly kind: 'reachable';
  readonly version: string;
  readonly major: number;
  /** Of our session. */
  readonly synchronousCommit: string;
  readonly maxConnections: number;
  /** True on a standby: nothing can be written. */
  readonly isStandby: boolean;
  /** Database time minus the time here, at the middle of the question. */
  readonly clockSkewMs: number;
  readonly mayCreateRoles: boolean;
  /** The login roles of services and console that exist. */
  readonly roles: readonly string[];
  /** A role of ours that row level security would not hold. */
  readonly unboundRoles: readonly string[];
}

export type PostgresInspection = PostgresFacts | { readonly kind: 'unreachable'; readonly message: string };

const CONNECT_MS = 5_000;

interface Row {
  readonly version: string;
  readonly number: number;
  readonly synchronous: string;
  readonly connections: number;
  readonly standby: boolean;
  readonly nowMs: number;
  readonly creates: boolean;
  readonly roles: readonly string[] | null;
  readonly unbound: readonly string[] | null;
}

const QUESTION = `
  select current_setting('server_version') as version,
         current_setting('server_version_num')::int as number,
         current_setting('synchronous_commit') as synchronous,
         current_setting('max_connections')::int as connections,
         pg_is_in_recovery() as standby,
         (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
         (select rolcreaterole or rolsuper from pg_roles where rolname = current_user) as creates,
         (select array_agg(rolname::text order by rolname) from pg_roles
           where rolname in ('headgate_service', 'headgate_api')) as roles,
         (select array_agg(rolname::text order by rolname) from pg_roles
           where rolname in ('headgate_service', 'headgate_api') and (rolsuper or rolbypassrls)) as unbound`;

/** Asks once, within seconds. Never throws: not answering is an answer. */
export async function inspectPostgres(url: string): Promise<PostgresInspection> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'headgate doctor',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: CONNECT_MS,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const askedAtMs = Date.now();
    const { rows } = await client.query<Row>(QUESTION);
    const hereMs = (askedAtMs + Date.now()) / 2;
    const [row] = rows;
    if (row === undefined) return { kind: 'unreachable', message: 'it answered nothing' };
    return {
      kind: 'reachable',
      version: row.version,
      major: Math.floor(row.number / 10_000),
      synchronousCommit: row.synchronous,
      maxConnections: row.connections,
      isStandby: row.standby,
      clockSkewMs: Math.round(row.nowMs - hereMs),
      mayCreateRoles: row.creates,
      roles: row.roles ?? [],
      unboundRoles: row.unbound ?? [],
    };
  } catch (fault) {
    return { kind: 'unreachable', message: reasonIn(fault) };
  } finally {
    await client.end().catch(() => {});
  }
}

/** A connection tried on several addresses fails with one error that has no words of its own. */
function reasonIn(fault: unknown): string {
  if (fault instanceof AggregateError) return fault.errors.map(reasonIn).join(', ');
  return fault instanceof Error ? fault.message : String(fault);
}
