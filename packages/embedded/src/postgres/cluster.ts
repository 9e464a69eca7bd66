/**
 * Making a cluster. Every step is done in a draft and renamed into place at the end, so that a crash leaves
 * either no cluster or a whole one. The credentials are written before it: without a cluster they harm nobody.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { writePrivateFile } from '../data-folder.js';
import { EmbeddedError } from '../embedded-error.js';
import { dieWithParent } from '../process/die-with-parent.js';
import type { PostgresBinaries } from './binaries.js';
import type { PostgresHome } from './home.js';

/** The role that owns the product's database: it may make databases and roles, and is no superuser, so that row
 * level security binds it as it would in production. */
export const OWNER_ROLE = 'headgate';
export const SUPERUSER_ROLE = 'postgres';
export const DATABASE_NAME = 'headgate';

export interface Credentials {
  readonly ownerPassword: string;
  readonly superuserPassword: string;
}

/** The environment of every Postgres program: none of the caller's PG* settings, one language for messages. */
export function postgresEnv(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}

/** The major version that made the cluster; null when there is none yet. */
export function clusterMajor(home: PostgresHome): number | null {
  const file = join(home.cluster, 'PG_VERSION');
  return existsSync(file) ? Number(readFileSync(file, 'utf8').trim()) : null;
}

/** Opens the cluster, making it at the first start: UTF8, C locale, passwords (scram) on every connection. */
export async function ensureCluster(
  home: PostgresHome,
  binaries: PostgresBinaries,
  durable: boolean,
): Promise<Credentials> {
  for (const name of readdirSync(home.folder)) {
    if (name.startsWith('draft-')) rmSync(join(home.folder, name), { recursive: true, force: true });
  }
  const known = readCredentials(home.credentialsFile);
  if (clusterMajor(home) !== null) {
    if (known !== null) return known;
    throw new EmbeddedError(
      'DATA_MISMATCH',
      `${home.cluster} has a database but ${home.credentialsFile} with its passwords is missing or unreadable. Put the file back, or remove the data folder to begin anew.`,
    );
  }
  const credentials = known ?? {
    ownerPassword: randomBytes(24).toString('hex'),
    superuserPassword: randomBytes(24).toString('hex'),
  };
  writePrivateFile(home.credentialsFile, JSON.stringify(credentials));
  const draft = join(home.folder, `draft-${randomBytes(6).toString('hex')}`);
  await initialise(home, binaries, draft, credentials, durable);
  await makeOwner(home, binaries, draft, credentials);
  renameSync(draft, home.cluster);
  return credentials;
}

async function initialise(
  home: PostgresHome,
  binaries: PostgresBinaries,
  cluster: string,
  credentials: Credentials,
  durable: boolean,
): Promise<void> {
  const passwordFile = `${cluster}.password`;
  writeFileSync(passwordFile, `${credentials.superuserPassword}\n`, { mode: 0o600 });
  if (home.runAs) chownSync(passwordFile, home.runAs.uid, home.runAs.gid);
  try {
    await run(home, binaries.initdb, [
      ...['--pgdata', cluster, '--username', SUPERUSER_ROLE, '--pwfile', passwordFile],
      ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C', '--no-instructions'],
      ...(durable ? [] : ['--no-sync']),
    ]);
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

/** Single-user mode takes one statement a line, needs no client, no port and no running server. */
async function makeOwner(
  home: PostgresHome,
  binaries: PostgresBinaries,
  cluster: string,
  credentials: Credentials,
): Promise<void> {
  const statements = [
    `create role ${OWNER_ROLE} login createdb createrole password '${credentials.ownerPassword}'`,
    `create database ${DATABASE_NAME} owner ${OWNER_ROLE}`,
  ];
  const output = await run(
    home,
    binaries.postgres,
    ['--single', '-D', cluster, '-c', 'fsync=off', '-c', 'password_encryption=scram-sha-256', 'postgres'],
    `${statements.join('\n')}\n`,
  );
  // It goes on after an error and exits with 0.
  if (/\b(?:ERROR|FATAL|PANIC):/.test(output)) throw failed('making the owner', output);
}

async function run(
  home: PostgresHome,
  program: string,
  args: readonly string[],
  input = '',
): Promise<string> {
  const tied = dieWithParent(program, args, 'SIGKILL');
  const child = spawn(tied.program, [...tied.args], {
    cwd: home.folder,
    env: postgresEnv(),
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(home.runAs ?? {}),
  });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [output, problems] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  const said = `${output}\n${problems}`.trim();
  if (child.exitCode !== 0) throw failed(program, said);
  return said;
}

function failed(what: string, said: string): EmbeddedError {
  return new EmbeddedError('START_FAILED', `Postgres: ${what} failed:\n${said.slice(-2_000)}`);
}

function readCredentials(file: string): Credentials | null {
  try {
    const found: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof found !== 'object' || found === null) return null;
    if (!('ownerPassword' in found) || !('superuserPassword' in found)) return null;
    const { ownerPassword, superuserPassword } = found;
    if (typeof ownerPassword !== 'string' || typeof superuserPassword !== 'string') return null;
    return { ownerPassword, superuserPassword };
  } catch {
    return null;
  }
}
