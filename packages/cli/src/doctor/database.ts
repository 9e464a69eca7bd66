/** What hurts later about a Postgres. */
import type { Settings } from '@headgate/config';
import {
  inspectPostgres,
  openDatabase,
  type PostgresFacts,
  placementViolations,
  plan,
} from '@headgate/store';
import type { Logger } from '@headgate/telemetry';
import type { Connections } from '../instance/connections.js';
import { count, duration } from '../terminal/words.js';
import { type Check, failed, ok, skipped, warning } from './check.js';

const OLDEST_MAJOR = 15;
/** Beyond this, times that people compare are misleading; leases are judged by the database's clock alone. */
const MOST_SKEW_MS = 2_000;
/** Pools of one process of each service, with room for a second of each. */
const FEWEST_CONNECTIONS = 60;

export async function checkDatabase(
  settings: Settings,
  running: Connections | null,
  logger: Logger,
): Promise<readonly Check[]> {
  const url = settings.databaseUrl ?? settings.databaseUrlService ?? running?.serviceUrl ?? null;
  if (url === null) {
    return [
      skipped(
        'postgres',
        'DATABASE_URL is not set and no instance runs: "headgate up" brings a private Postgres',
      ),
    ];
  }
  const found = await inspectPostgres(url);
  if (found.kind === 'unreachable') {
    return [
      failed('postgres', `Postgres does not answer: ${found.message}`, 'Start it, or correct DATABASE_URL.'),
    ];
  }
  const schema = settings.databaseUrl === null ? null : await schemaChecks(settings.databaseUrl);
  return [
    version(found),
    durability(found),
    roles(found, settings.databaseUrl !== null),
    connections(found),
    skew(found),
    schema ??
      skipped(
        'migrations',
        'which migrations are applied is asked as the owner (DATABASE_URL); "headgate up" applies its own',
      ),
    await placement(url, settings, logger),
  ];
}

const version = (it: PostgresFacts): Check =>
  it.isStandby
    ? failed(
        'postgres',
        `Postgres ${it.version} is a standby: nothing can be written`,
        'Point DATABASE_URL at the primary.',
      )
    : it.major < OLDEST_MAJOR
      ? failed('postgres', `Postgres ${it.version} is too old`, `Use Postgres ${OLDEST_MAJOR} or later.`)
      : ok('postgres', `Postgres ${it.version} answers`);

const durability = (it: PostgresFacts): Check =>
  it.synchronousCommit === 'off'
    ? failed(
        'synchronous-commit',
        'synchronous_commit is off: a crash can lose receipts that were acknowledged',
        "alter system set synchronous_commit = 'on'; select pg_reload_conf();",
      )
    : ok('synchronous-commit', `synchronous_commit is ${it.synchronousCommit}`);

function roles(it: PostgresFacts, isOwner: boolean): Check {
  const [unbound] = it.unboundRoles;
  if (unbound !== undefined) {
    return failed(
      'roles',
      `role ${unbound} is a superuser or bypasses row level security: tenants would not be apart`,
      `alter role ${unbound} nosuperuser nobypassrls;`,
    );
  }
  if (it.roles.length === 2) return ok('roles', `${it.roles.join(' and ')} are bound by row level security`);
  if (!isOwner || it.mayCreateRoles)
    return warning('roles', 'the roles of services and console are not there yet', 'headgate migrate');
  return failed(
    'roles',
    'the roles are not there, and the user of DATABASE_URL may not make them',
    'alter role … createrole; or make headgate_service and headgate_api yourself.',
  );
}

const connections = (it: PostgresFacts): Check =>
  it.maxConnections < FEWEST_CONNECTIONS
    ? warning(
        'connections',
        `max_connections is ${it.maxConnections}`,
        `Raise it to ${FEWEST_CONNECTIONS} or more, or put a pooler in front.`,
      )
    : ok('connections', `max_connections is ${it.maxConnections}`);

const skew = (it: PostgresFacts): Check =>
  Math.abs(it.clockSkewMs) > MOST_SKEW_MS
    ? warning(
        'clock',
        `the clock of Postgres is ${duration(Math.abs(it.clockSkewMs))} ${it.clockSkewMs > 0 ? 'ahead' : 'behind'}`,
        'Let both machines follow NTP. Leases are safe meanwhile: only the database’s clock judges them.',
      )
    : ok('clock', 'Postgres and this machine agree about the time');

async function schemaChecks(ownerUrl: string): Promise<Check> {
  try {
    const pending = await plan(ownerUrl);
    return pending.length === 0
      ? ok('migrations', 'the schema is at its newest')
      : warning('migrations', `${count(pending.length, 'migration')} not applied yet`, 'headgate migrate');
  } catch (fault) {
    return failed(
      'migrations',
      fault instanceof Error ? fault.message : String(fault),
      'headgate migrate --plan',
    );
  }
}

const SHOWN = 100;

/** Every run stands where its status says (no hot row lost, none left over). */
async function placement(url: string, settings: Settings, logger: Logger): Promise<Check> {
  const database = openDatabase({
    serviceUrl: url,
    poolMode: settings.dbPool,
    applicationName: 'headgate doctor',
    logger,
    maxConnections: 1,
  });
  try {
    const wrong = await database.service.use((c) => placementViolations(c, SHOWN));
    const [first] = wrong;
    if (first === undefined) return ok('placement', 'every run stands where its status says');
    return warning(
      'placement',
      `${count(wrong.length, 'run')} not where the status says: ${first.misplacements.join(', ')}`,
      'The reconciler repairs them within minutes: see that one runs (headgate status).',
    );
  } catch {
    return skipped('placement', 'the schema is not there yet', 'headgate migrate');
  } finally {
    await database.close();
  }
}
