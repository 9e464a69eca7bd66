/**
 * Migrations: numbered SQL files, each applied once in one transaction under one lock.
 *
 * Two processes that start at once: the second waits for `pg_advisory_xact_lock` and finds the work done. A file
 * that changed after it was applied, or one that is missing, stops the start with its name: a schema that nobody
 * wrote down is worse than no start. Roles are the cluster's while the lock is one database's, so that step is
 * retried on the errors which two databases cause each other (23505, "tuple concurrently updated").
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

export const MIGRATIONS_DIR = fileURLToPath(new URL('../../migrations', import.meta.url));

export interface Migration {
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

export interface MigrateOptions {
  /** DATABASE_URL: may create schema and roles. */
  readonly ownerUrl: string;
  /** Passwords of the two login roles that services use. */
  readonly passwords: { readonly service: string; readonly api: string };
}

export interface MigrateResult {
  readonly applied: readonly string[];
  readonly already: readonly string[];
}

export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

/** All migrations in order. */
export async function listMigrations(dir: string = MIGRATIONS_DIR): Promise<readonly Migration[]> {
  const names = (await readdir(dir)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(`${dir}/${name}`, 'utf8');
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

/** Brings the database to the newest schema, and makes or updates the two login roles. */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const client = new pg.Client({ connectionString: options.ownerUrl, application_name: 'headgate migrate' });
  client.on('error', () => {});
  await client.connect();
  try {
    await makeRoles(client, options.passwords);
    return await applyAll(client, await listMigrations());
  } finally {
    await client.end().catch(() => {});
  }
}

/** What `migrate` would do: the files not yet applied. */
export async function plan(ownerUrl: string): Promise<readonly Migration[]> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    const done = await appliedChecksums(client);
    return (await listMigrations()).filter((migration) => !done.has(migration.name));
  } finally {
    await client.end();
  }
}

async function applyAll(client: pg.Client, migrations: readonly Migration[]): Promise<MigrateResult> {
  await client.query('begin');
  try {
    await client.query("select pg_advisory_xact_lock(hashtextextended('headgate.migrate', 0))");
    await client.query(
      `create table if not exists public.headgate_migration (
         name text primary key, checksum text not null, applied_at timestamptz not null default clock_timestamp())`,
    );
    const done = await appliedChecksums(client);
    const known = new Set(migrations.map((migration) => migration.name));
    for (const name of done.keys()) {
      if (!known.has(name)) {
        throw new MigrationError(
          `the database has migration ${name}, which this version does not know: it was written by a newer Headgate`,
        );
      }
    }
    const applied: string[] = [];
    for (const migration of migrations) {
      const checksum = done.get(migration.name);
      if (checksum === migration.checksum) continue;
      if (checksum !== undefined) {
        throw new MigrationError(
          `migration ${migration.name} was changed after it was applied to this database`,
        );
      }
      await client.query(migration.text);
      await client.query('set local search_path to default');
      await client.query('insert into public.headgate_migration (name, checksum) values ($1, $2)', [
        migration.name,
        migration.checksum,
      ]);
      applied.push(migration.name);
    }
    await client.query('commit');
    return { applied, already: migrations.map((m) => m.name).filter((name) => !applied.includes(name)) };
  } catch (fault) {
    await client.query('rollback').catch(() => {});
    throw fault;
  }
}

async function appliedChecksums(client: pg.Client): Promise<ReadonlyMap<string, string>> {
  const exists = await client.query<{ found: string | null }>(
    "select to_regclass('public.headgate_migration') as found",
  );
  if (exists.rows[0]?.found == null) return new Map();
  const rows = await client.query<{ name: string; checksum: string }>(
    'select name, checksum from public.headgate_migration',
  );
  return new Map(rows.rows.map((row) => [row.name, row.checksum]));
}

const ROLE_TRIES = 20;

async function makeRoles(client: pg.Client, passwords: MigrateOptions['passwords']): Promise<void> {
  for (const [role, password] of [
    ['headgate_service', passwords.service],
    ['headgate_api', passwords.api],
  ] as const) {
    for (let tryNo = 1; ; tryNo += 1) {
      try {
        await makeRole(client, role, password);
        break;
      } catch (fault) {
        const code = (fault as { code?: string }).code ?? '';
        const raced =
          code === '23505' || code === '42710' || /tuple concurrently updated/.test(String(fault));
        if (!raced || tryNo === ROLE_TRIES) throw fault;
        await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 80));
      }
    }
  }
}

/** Time-outs belong to the login role: they hold for every session, however it was opened (SQL rules 6 and 7). */
async function makeRole(client: pg.Client, role: string, password: string): Promise<void> {
  const { rows } = await client.query<{ unbound: boolean }>(
    'select rolsuper or rolbypassrls as unbound from pg_roles where rolname = $1',
    [role],
  );
  // Checked, not altered: only a superuser may name that attribute for a role that exists, even to take it away.
  if (rows[0]?.unbound === true) {
    throw new MigrationError(
      `role ${role} is a superuser or bypasses row level security: tenants would not be apart`,
    );
  }
  const secret = client.escapeLiteral(password);
  await client.query(`${rows.length === 0 ? 'create' : 'alter'} role ${role} login password ${secret}`);
  await client.query(`alter role ${role} set statement_timeout = '30s'`);
  await client.query(`alter role ${role} set lock_timeout = '5s'`);
  await client.query(`alter role ${role} set idle_in_transaction_session_timeout = '15s'`);
}
