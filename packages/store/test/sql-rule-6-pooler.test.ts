import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { declaredStatements, enterStages, leases, openDatabase, policies } from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import {
  aPolicy,
  atEnd,
  claimRun,
  describeWithTool,
  eventually,
  finishRun,
  requireTool,
  runInStatus,
  seedRun,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { misplaced } from './place.js';

/** A whole life: admitted, dispatched, claimed, through its stages, a heartbeat, finished; and a cancel. */
async function liveThrough(db: TestStore): Promise<void> {
  const run = await seedRun(db);
  const lease = await claimRun(db, run);
  await enterStages(db.service, [{ fence: lease.fence, to: 'RUNNING', actor: 'worker' }]);
  const beat = await db.reserved.use((c) => leases.beat(c, [lease.fence], lease.workerId, 60_000));
  expect(beat.leases.get(run.runId)?.answer).toBe('renewed');
  expect(await finishRun(db, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' }, 0.5)).toMatchObject({
    status: 'SUCCEEDED',
  });
  await runInStatus(db, 'CANCELLED');
  await policies.activate(
    db.service,
    aPolicy({ retentionDays: { receipts: 1, payloads: 1, events: 1, history: 1 } }),
    'test',
  );
  expect(await misplaced(db.service)).toEqual([]);
}

const SESSION_STATE =
  /\bpg_(?:try_)?advisory_lock(?:_shared)?\s*\(|\blisten\b|\bnotify\b|\bset\s+session\b|(?:^|;)\s*set\s+(?!local)|\btemp(?:orary)?\s+table|\bprepare\b|\bdeclare\b.*\bcursor\b|set_config\s*\([^)]*false\s*\)/i;

describe('SQL rule 6: nothing needs session state', () => {
  test('no declared statement uses session locks, LISTEN, NOTIFY, SET, temporary tables or cursors', () => {
    expect(declaredStatements().length).toBeGreaterThan(80);
    expect(declaredStatements().filter(({ text }) => SESSION_STATE.test(text))).toEqual([]);
  });

  test('the check knows each kind of session state', () => {
    for (const text of [
      'select pg_advisory_lock(1)',
      'select pg_try_advisory_lock(1)',
      'listen runs',
      'set search_path to headgate',
      "set session statement_timeout = '1s'",
      "select set_config('headgate.tenants', '1', false)",
      'create temp table t (id int)',
      'declare c cursor for select 1',
    ]) {
      expect(SESSION_STATE.test(text), text).toBe(true);
    }
    expect(SESSION_STATE.test("select set_config('headgate.tenants', $1, true)")).toBe(false);
    expect(SESSION_STATE.test('update headgate.run set status = $1')).toBe(false);
  });

  test('pool mode `transaction` prepares nothing on the server; mode `session` does, by the names of statements', async () => {
    for (const poolMode of ['transaction', 'session'] as const) {
      const db = await testStore({ poolMode, maxConnections: 1 });
      await liveThrough(db);
      const prepared = await db.service.use((c) =>
        c.query<{ name: string }>('select name from pg_prepared_statements'),
      );
      if (poolMode === 'transaction') expect(prepared).toEqual([]);
      else expect(prepared.map((row) => row.name)).toContain('run.move');
    }
  });
});

describeWithTool('pgbouncer', 'SQL rule 6: behind a transaction pooler', () => {
  test('a whole life passes through pgbouncer with two server sessions, with named statements off', async () => {
    const direct = await testStore();
    const through = await pgbouncer(direct.urls.serviceUrl);
    const pooled = openDatabase({
      serviceUrl: through,
      applicationName: 'test',
      logger: createLogger('test', { level: 'silent' }),
      poolMode: 'transaction',
      maxConnections: 6,
    });
    atEnd(() => pooled.close());
    const db = { ...pooled, urls: direct.urls };
    await Promise.all([
      liveThrough(db),
      runInStatus(db, 'SUCCEEDED'),
      runInStatus(db, 'RUNNING'),
      runInStatus(db, 'CANCEL_REQUESTED'),
    ]);
    expect(await misplaced(direct.service)).toEqual([]);
  });
});

/** A pgbouncer in front of one database and role; its URL. Ended with the test. */
async function pgbouncer(target: string): Promise<string> {
  const program = requireTool('pgbouncer');
  const { hostname, port, pathname, username, password } = new URL(target);
  const folder = mkdtempSync(join(tmpdir(), 'headgate-test-bouncer-'));
  chmodSync(folder, 0o755);
  const ownPort = await freePort();
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o644 });
    return join(folder, name);
  };
  const users = file('users.txt', `"${username}" "${decodeURIComponent(password)}"\n`);
  const settings = file(
    'pgbouncer.ini',
    [
      '[databases]',
      `* = host=${hostname} port=${port} password=${decodeURIComponent(password)}`,
      '[pgbouncer]',
      `listen_addr = 127.0.0.1`,
      `listen_port = ${ownPort}`,
      'unix_socket_dir =',
      'auth_type = plain',
      `auth_file = ${users}`,
      'pool_mode = transaction',
      'default_pool_size = 2',
    ].join('\n'),
  );
  const asRoot = process.getuid?.() === 0;
  const child = spawn(program, [settings], {
    stdio: 'ignore',
    ...(asRoot ? { uid: 65_534, gid: 65_534 } : {}),
  });
  atEnd(async () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  await eventually(() => answers(ownPort), { what: 'pgbouncer listens' });
  return `postgres://${username}:${password}@127.0.0.1:${ownPort}${pathname}`;
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address !== null
          ? resolve(address.port)
          : reject(new Error('no port')),
      );
    });
  });
