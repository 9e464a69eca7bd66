import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  defaultBinarySearch,
  endLeftovers,
  findPostgres,
  identify,
  type PostgresServer,
  persistentTemp,
  startPostgres,
  unprivilegedUser,
} from '../src/index.js';
import { closedFolder, dataFolder, stoppedAtEnd } from './folders.js';

const start = async (dataDir: string): Promise<PostgresServer> =>
  stoppedAtEnd(await startPostgres({ dataDir, url: null, durable: false }));

async function ask(server: PostgresServer, sql: string, url = server.url): Promise<unknown> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(sql);
    return Object.values(rows[0] ?? {})[0];
  } finally {
    await client.end();
  }
}

/** An owner may not ask for it. */
async function clusterOf(server: PostgresServer): Promise<string> {
  const sql = "select current_setting('data_directory')";
  return String(await ask(server, sql, server.superuserUrl ?? ''));
}

describe('the private Postgres', { timeout: 120_000 }, () => {
  test('runs under a folder only its user may enter, in UTF8 and the C locale, owned by no superuser', async () => {
    const dataDir = dataFolder();
    expect(statSync(dirname(dataDir)).mode & 0o077).toBe(0);
    const server = await start(dataDir);
    expect(await ask(server, 'select current_database()::text')).toBe('headgate');
    expect(await ask(server, 'select rolsuper from pg_roles where rolname = current_user')).toBe(false);
    expect(await ask(server, "select current_setting('server_encoding')")).toBe('UTF8');
    expect(await ask(server, 'select datcollate from pg_database where datname = current_database()')).toBe(
      'C',
    );
    await ask(server, 'create role another login');
    await ask(server, 'create database another');
  });

  test('demands a password, keeps it in a file for our eyes only, and is in no command line', async () => {
    const dataDir = dataFolder();
    const server = await start(dataDir);
    const password = new URL(server.url).password;
    const wrong = new Client({ connectionString: server.url.replace(password, 'wrong') });
    await expect(wrong.connect()).rejects.toThrow(/password authentication failed/);
    const file = join(dataDir, 'postgres/credentials.json');
    expect(readFileSync(file, 'utf8')).toContain(password);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(identify(server.pid ?? 0)?.commandLine).not.toContain(password);
  });

  test('comes back with its data, on its port, and on another one if somebody took it', async () => {
    const dataDir = dataFolder();
    const first = await start(dataDir);
    await ask(first, 'create table kept as select 1 as id');
    await first.stop();
    const second = await start(dataDir);
    expect(second.port).toBe(first.port);
    expect(await ask(second, 'select id from kept')).toBe(1);
    await second.stop();

    const thief = createServer().listen(first.port, '127.0.0.1');
    onTestFinished(() => void thief.close());
    await once(thief, 'listening');
    const third = await start(dataDir);
    expect(third.port).not.toBe(first.port);
    expect(await ask(third, 'select id from kept')).toBe(1);
  });

  test('is refused to a second start while the first lives, and serves on', async () => {
    const dataDir = dataFolder();
    const server = await start(dataDir);
    await expect(startPostgres({ dataDir, url: null })).rejects.toMatchObject({ code: 'IN_USE' });
    expect(await endLeftovers(dataDir)).toEqual([
      { name: 'postgres', pid: server.pid, outcome: 'ownerLives' },
    ]);
    expect(await ask(server, 'select 1')).toBe(1);
  });

  test('starts over a postmaster.pid that names a living stranger', async () => {
    const dataDir = dataFolder();
    const server = await start(dataDir);
    const cluster = await clusterOf(server);
    const file = readFileSync(join(cluster, 'postmaster.pid'), 'utf8');
    await server.kill9();
    await server.stop();
    const stranger = spawn('sleep', ['60'], unprivilegedUser() ?? {});
    onTestFinished(() => void stranger.kill('SIGKILL'));
    await once(stranger, 'spawn');
    writeFileSync(join(cluster, 'postmaster.pid'), file.replace(/^\d+/, String(stranger.pid)));
    expect(await ask(await start(dataDir), 'select 1')).toBe(1);
    expect(stranger.exitCode).toBeNull();
  });

  test('begins anew when the data folder was deleted, wherever its cluster lay', async () => {
    const dataDir = dataFolder();
    const server = await start(dataDir);
    await ask(server, 'create table old (id int)');
    await server.stop();
    rmSync(dataDir, { recursive: true });
    const fresh = await start(dataDir);
    expect(await ask(fresh, "select to_regclass('old')::text")).toBeNull();
  });

  test('keeps its data when the data folder is moved, and a copy of the folder gets a cluster of its own', async () => {
    const original = dataFolder();
    const [moved, copy] = [join(dirname(original), 'moved'), dataFolder()];
    const server = await start(original);
    await ask(server, 'create table kept as select 7 as id');
    await server.stop();
    renameSync(original, moved);
    const after = await start(moved);
    expect(await ask(after, 'select id from kept')).toBe(7);
    if (unprivilegedUser() !== null) {
      cpSync(moved, copy, { recursive: true });
      rmSync(join(copy, 'pids'), { recursive: true });
      const copied = await start(copy);
      expect(await ask(copied, "select to_regclass('kept')::text")).toBeNull();
      expect(await ask(after, 'select id from kept')).toBe(7);
    }
    await after.erase();
    expect(existsSync(join(moved, 'postgres'))).toBe(false);
  });

  test('finishes a first start that was killed half-way', async () => {
    const dataDir = dataFolder();
    const server = await start(dataDir);
    const cluster = await clusterOf(server);
    await server.stop();
    // As a kill inside initdb leaves it: credentials and a draft, no cluster.
    renameSync(cluster, join(dirname(cluster), 'draft-0123'));
    expect(await ask(await start(dataDir), 'select 1')).toBe(1);
    expect(readdirSync(dirname(cluster)).filter((name) => name.startsWith('draft'))).toEqual([]);
  });

  test('is the given one where DATABASE_URL says so: not ours to stop or kill', async () => {
    const server = await startPostgres({ dataDir: '/nowhere', url: 'postgres://me@db.example/x' });
    expect(server).toMatchObject({
      url: 'postgres://me@db.example/x',
      port: 5432,
      pid: null,
      isPrivate: false,
    });
    await server.stop();
    await expect(server.kill9()).rejects.toMatchObject({ code: 'NOT_OURS' });
    await expect(server.restart()).rejects.toMatchObject({ code: 'NOT_OURS' });
  });
});

describe('a start after the owner was killed', { timeout: 120_000 }, () => {
  const script = fileURLToPath(new URL('start-and-hang.ts', import.meta.url));

  async function ownerOf(dataDir: string): Promise<{ owner: ChildProcess; pids: readonly number[] }> {
    const owner = spawn(
      process.execPath,
      ['--conditions=headgate-source', '--import', 'tsx', script, dataDir],
      { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, HEADGATE_NO_REDIS: '' } },
    );
    onTestFinished(() => void owner.kill('SIGKILL'));
    const [line] = await once(owner.stdout, 'data');
    const pids = Object.values<number | null>(JSON.parse(String(line)));
    return { owner, pids: pids.filter((pid) => pid !== null) };
  }

  test('Q4: finds its servers gone or ends them, and has the data', async () => {
    const dataDir = dataFolder();
    const { owner, pids } = await ownerOf(dataDir);
    expect(pids.map((pid) => identify(pid) !== null)).toEqual(pids.map(() => true));
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    await endLeftovers(dataDir);
    expect(pids.map(identify)).toEqual(pids.map(() => null));
    expect(await ask(await start(dataDir), 'select 1')).toBe(1);
  });
});

describe('the search for Postgres', () => {
  const search = defaultBinarySearch();

  test('takes the npm package before the system', () => {
    const found = findPostgres(search, unprivilegedUser());
    expect(found.from).toBe('package');
    expect(found.major).toBeGreaterThanOrEqual(18);
  });

  test('makes the links of a package whose install script did not run', () => {
    const native = join(publicFolder(), 'native');
    copyPackage(native, search.packageFolder);
    for (const link of linksIn(native)) rmSync(join(native, '..', link), { force: true });
    expect(findPostgres({ packageFolder: native, systemFolders: [] }, null).postgres).toBe(
      join(native, 'bin/postgres'),
    );
  });

  test.runIf(unprivilegedUser() !== null)('copies binaries that nobody cannot reach to where it can', () => {
    const native = join(closedFolder(), 'native');
    copyPackage(native, search.packageFolder);
    const found = findPostgres({ packageFolder: native, systemFolders: [] }, unprivilegedUser());
    expect(found.postgres.startsWith(`${persistentTemp()}/`)).toBe(true);
    expect(findPostgres({ packageFolder: native, systemFolders: [] }, unprivilegedUser())).toEqual(found);
  });

  test.runIf(search.systemFolders.length > 0)('falls back to the system where the package cannot run', () => {
    const folder = closedFolder();
    mkdirSync(join(folder, 'native/bin'), { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"name":"broken"}');
    writeFileSync(
      join(folder, 'native/bin/postgres'),
      '#!/bin/sh\necho libicuuc.so.60 is missing >&2; exit 127\n',
      {
        mode: 0o755,
      },
    );
    const found = findPostgres({ ...search, packageFolder: join(folder, 'native') }, unprivilegedUser());
    expect(found.from).toBe('system');
  });

  test('refuses another major version than the one that made the data, and lists all it tried', () => {
    expect(() => findPostgres(search, unprivilegedUser(), 9)).toThrow(
      /No Postgres can run here\. Set DATABASE_URL[\s\S]*the data folder was made by version 9/,
    );
    expect(() => findPostgres({ packageFolder: null, systemFolders: ['/nowhere'] }, null)).toThrow(/ENOENT/);
  });

  /** A folder that everybody may enter, on the same file system as the copies. */
  function publicFolder(): string {
    const folder = mkdtempSync(join(persistentTemp(), 'embedded-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }
  function copyPackage(native: string, from: string | null): void {
    cpSync(from ?? '', native, { recursive: true, filter: (path) => !path.endsWith('.a') });
    cpSync(join(from ?? '', '../package.json'), join(native, '../package.json'));
  }
  function linksIn(native: string): readonly string[] {
    const links: readonly { target: string }[] = JSON.parse(
      readFileSync(join(native, 'pg-symlinks.json'), 'utf8'),
    );
    return links.map(({ target }) => target);
  }
});
