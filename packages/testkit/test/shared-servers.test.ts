import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import {
  describeWithTool,
  eventually,
  inDatabase,
  privatePostgres,
  privateRedis,
  type TestDatabase,
  testDatabase,
  testRedis,
  withClient,
} from '../src/index.js';

const oneValue = async (url: string, sql: string) =>
  withClient(url, async (client) => Object.values((await client.query(sql)).rows[0] ?? {})[0]);

describe('a test database', () => {
  test('is one of its own for each caller, and a change in one is not seen in another', async () => {
    const [one, other] = await Promise.all([testDatabase(), testDatabase()]);
    expect(one.name).not.toBe(other.name);
    await withClient(one.ownerUrl, (client) => client.query('create table mark (id int)'));
    expect(await oneValue(one.ownerUrl, "select to_regclass('mark')::text")).toBe('mark');
    expect(await oneValue(other.ownerUrl, "select to_regclass('mark')::text")).toBeNull();
  });

  test('is reached as each of the three login roles, none of them a superuser', async () => {
    const database = await testDatabase();
    const roles = [];
    for (const url of [database.ownerUrl, database.serviceUrl, database.apiUrl]) {
      roles.push(await oneValue(url, 'select session_user::text'));
      expect(await oneValue(url, 'select rolsuper from pg_roles where rolname = session_user')).toBe(false);
    }
    expect(roles).toEqual(['headgate', 'headgate_service', 'headgate_api']);
  });

  let leftByTheTestBefore: TestDatabase | null = null;
  test('is noted by this test for the next one', async () => {
    leftByTheTestBefore = await testDatabase();
    expect(await oneValue(leftByTheTestBefore.ownerUrl, 'select 1')).toBe(1);
  });
  test('is dropped when its test is over, even while somebody is connected', async () => {
    const url = leftByTheTestBefore?.ownerUrl ?? '';
    await expect(oneValue(url, 'select 1')).rejects.toThrow(/does not exist/);
  });

  test('leaves the template closed to connections', async () => {
    const database = await testDatabase();
    const template = inDatabase(database.ownerUrl, 'headgate_template');
    await expect(oneValue(template, 'select 1')).rejects.toThrow(/not currently accepting connections/);
  });
});

describeWithTool('redis', 'a test Redis', () => {
  test('is flushed alone: the keys of another test stay', async () => {
    const { Redis } = await import('ioredis');
    const [one, other] = await Promise.all([testRedis(), testRedis()]);
    expect(one.prefix).not.toBe(other.prefix);
    const clients = [new Redis(one.url), new Redis(other.url)];
    try {
      await Promise.all(clients.map((client) => client.set('key', 'value')));
      await one.flush();
      expect(await Promise.all(clients.map((client) => client.get('key')))).toEqual([null, 'value']);
    } finally {
      for (const client of clients) client.disconnect();
    }
  });

  test('Q34: a private one can be killed and comes back empty on the same port', async () => {
    const { Redis } = await import('ioredis');
    const server = await privateRedis();
    const before = server.port;
    const client = new Redis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
    client.on('error', () => {});
    try {
      await client.set('key', 'value');
      await server.kill9();
      expect(server.pid).toBeNull();
      await server.restart();
      expect(server.port).toBe(before);
      expect(await eventually(async () => [await client.get('key')], { what: 'an answer' })).toEqual([null]);
    } finally {
      client.disconnect();
    }
  });
});

describe('a private Postgres', () => {
  test('Q34: keeps what was committed when it is killed, and comes back on the same port', async () => {
    const { server, ownerUrl } = await privatePostgres();
    const survivor = new Client({ connectionString: ownerUrl });
    // A cut session can report more than one error (the backend's last word, then the closed socket).
    const lost = new Promise<void>((resolve) => survivor.on('error', () => resolve()));
    await survivor.connect();
    await survivor.query('create table kept (id int)');
    await survivor.query('insert into kept values (1)');
    const before = server.port;
    await server.kill9();
    await lost;
    await expect(oneValue(ownerUrl, 'select 1')).rejects.toThrow(/ECONNREFUSED/);
    await server.restart();
    expect(server.port).toBe(before);
    expect(await oneValue(ownerUrl, 'select id from kept')).toBe(1);
    expect(await oneValue(ownerUrl, "select current_setting('fsync')")).toBe('on');
    expect(await oneValue(ownerUrl, "select current_setting('synchronous_commit')")).toBe('on');
  });
});
