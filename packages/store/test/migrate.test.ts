import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listMigrations, MigrationError, migrate, plan, roleUrls, withRole } from '@headgate/store';
import { atEnd, inDatabase, type PrivatePostgres, privatePostgres, withClient } from '@headgate/testkit';
import { beforeAll, describe, expect, test } from 'vitest';

/** Roles are the cluster's: a cluster of our own, or other tests would lose their passwords. */
describe('migrations', () => {
  let postgres: PrivatePostgres;
  beforeAll(async () => {
    postgres = await privatePostgres({ durable: false });
  });

  const passwords = { service: 'service-secret', api: 'api-secret' };
  let databases = 0;
  const freshDatabase = async (): Promise<string> => {
    databases += 1;
    const name = `fresh_${databases}`;
    await withClient(inDatabase(postgres.ownerUrl, 'postgres'), (owner) =>
      owner.query(`create database ${name}`),
    );
    return inDatabase(postgres.ownerUrl, name);
  };
  const names = async () => (await listMigrations()).map((migration) => migration.name);
  const one = async (url: string, sql: string) =>
    withClient(url, async (client) => (await client.query<Record<string, unknown>>(sql)).rows[0]);

  test('the owner is no superuser, and the second time nothing is applied', async () => {
    const ownerUrl = await freshDatabase();
    expect(await one(ownerUrl, 'select rolsuper from pg_roles where rolname = current_user')).toEqual({
      rolsuper: false,
    });
    expect(await migrate({ ownerUrl, passwords })).toEqual({ applied: await names(), already: [] });
    expect(await migrate({ ownerUrl, passwords })).toEqual({ applied: [], already: await names() });
  });

  test('both roles sign in with the passwords that were given last', async () => {
    const ownerUrl = await freshDatabase();
    await migrate({ ownerUrl, passwords });
    await migrate({ ownerUrl, passwords: { service: "it's new", api: 'api-secret' } });
    const signIn = (role: string, password: string) =>
      one(withRole(ownerUrl, role, password), 'select session_user::text as me');
    expect(await signIn('headgate_service', "it's new")).toEqual({ me: 'headgate_service' });
    expect(await signIn('headgate_api', 'api-secret')).toEqual({ me: 'headgate_api' });
    await expect(signIn('headgate_service', passwords.service)).rejects.toMatchObject({ code: '28P01' });
  });

  test('the plan names what is not applied yet, and asks for nothing to be there', async () => {
    const ownerUrl = await freshDatabase();
    expect((await plan(ownerUrl)).map((migration) => migration.name)).toEqual(await names());
    await migrate({ ownerUrl, passwords });
    expect(await plan(ownerUrl)).toEqual([]);
  });

  test('several at once on a fresh database: one applies, the others wait and find the work done', async () => {
    const ownerUrl = await freshDatabase();
    const results = await Promise.all([1, 2, 3].map(() => migrate({ ownerUrl, passwords })));
    expect(results.map((result) => result.applied.length).toSorted()).toEqual([0, 0, (await names()).length]);
  });

  test('two databases of one cluster at once, before the roles exist: both are migrated', async () => {
    const cluster = await privatePostgres({ durable: false });
    const maintenance = inDatabase(cluster.ownerUrl, 'postgres');
    await withClient(maintenance, async (owner) => {
      await owner.query(`drop database ${new URL(cluster.ownerUrl).pathname.slice(1)} with (force)`);
      await owner.query('drop role headgate_service');
      await owner.query('drop role headgate_api');
      for (const name of ['a', 'b', 'c']) await owner.query(`create database ${name}`);
    });
    const results = await Promise.all(
      ['a', 'b', 'c', 'a', 'b', 'c'].map((name) =>
        migrate({ ownerUrl: inDatabase(cluster.ownerUrl, name), passwords }),
      ),
    );
    expect(results.filter((result) => result.applied.length > 0)).toHaveLength(3);
  });

  test('a file that changed after it was applied stops the start with its name', async () => {
    const ownerUrl = await freshDatabase();
    await migrate({ ownerUrl, passwords });
    await one(ownerUrl, "update public.headgate_migration set checksum = 'x' where name = '0001_schema.sql'");
    const refused = migrate({ ownerUrl, passwords });
    await expect(refused).rejects.toBeInstanceOf(MigrationError);
    await expect(refused).rejects.toThrow(/0001_schema\.sql was changed/);
  });

  test('a database that a newer version has migrated is refused', async () => {
    const ownerUrl = await freshDatabase();
    await migrate({ ownerUrl, passwords });
    await one(
      ownerUrl,
      "insert into public.headgate_migration (name, checksum) values ('9999_future.sql', 'x')",
    );
    await expect(migrate({ ownerUrl, passwords })).rejects.toThrow(/9999_future\.sql.*newer Headgate/s);
  });

  test('a migration that fails leaves nothing', async () => {
    const ownerUrl = await freshDatabase();
    await one(ownerUrl, 'create schema headgate');
    await expect(migrate({ ownerUrl, passwords })).rejects.toMatchObject({ code: '42P06' });
    expect(
      await one(
        ownerUrl,
        `select to_regclass('public.headgate_migration') as migrations,
                (select count(*)::int from pg_class where relnamespace = 'headgate'::regnamespace) as made`,
      ),
    ).toEqual({ migrations: null, made: 0 });
  });

  test('a role that bypasses row level security is refused, not used', async () => {
    const cluster = await privatePostgres({ durable: false });
    const { superuserUrl } = cluster.server;
    if (superuserUrl === null) throw new Error('a private server has a superuser');
    await withClient(superuserUrl, (superuser) => superuser.query('alter role headgate_api bypassrls'));
    await expect(migrate({ ownerUrl: cluster.ownerUrl, passwords })).rejects.toThrow(
      /headgate_api is a superuser or bypasses/,
    );
  });

  test('files are numbered, in order and without a gap', async () => {
    const list = await names();
    expect(list).toEqual(list.toSorted());
    expect(list.map((name) => Number(name.slice(0, 4)))).toEqual(list.map((_, at) => at + 1));
  });
});

describe('the passwords of the login roles', () => {
  const ownerUrl = 'postgres://headgate:secret@127.0.0.1:5432/headgate?sslmode=disable';
  const folder = () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'headgate-test-roles-'));
    atEnd(() => rmSync(dataDir, { recursive: true, force: true }));
    return dataDir;
  };

  test('are made once, kept for this user alone, and read again', async () => {
    const dataDir = join(folder(), 'not', 'there');
    const first = await roleUrls({ ownerUrl, dataDir });
    expect(await roleUrls({ ownerUrl, dataDir })).toEqual(first);
    expect(statSync(join(dataDir, 'database.json')).mode & 0o777).toBe(0o600);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    const service = new URL(first.serviceUrl);
    expect([service.username, service.pathname, service.search]).toEqual([
      'headgate_service',
      '/headgate',
      '?sslmode=disable',
    ]);
    expect(service.password).toBe(first.passwords.service);
    expect(first.passwords.service).not.toBe(first.passwords.api);
  });

  test('several that start at once on one folder agree', async () => {
    const dataDir = folder();
    const all = await Promise.all(Array.from({ length: 8 }, () => roleUrls({ ownerUrl, dataDir })));
    for (const urls of all) expect(urls.passwords).toEqual(all[0]?.passwords);
    expect(JSON.parse(readFileSync(join(dataDir, 'database.json'), 'utf8'))).toEqual(all[0]?.passwords);
  });

  test('that are given count before those that are kept; an unreadable file is replaced', async () => {
    const dataDir = folder();
    writeFileSync(join(dataDir, 'database.json'), '{"service": 1');
    const serviceUrl = 'postgres://headgate_service:given%21@db/headgate';
    const urls = await roleUrls({ ownerUrl, dataDir, serviceUrl });
    expect(urls.serviceUrl).toBe(serviceUrl);
    expect(urls.passwords.service).toBe('given!');
    expect(urls.passwords.api.length).toBeGreaterThan(20);
    expect(new URL(withRole(ownerUrl, 'r', 'p@:/ss')).password).toBe(encodeURIComponent('p@:/ss'));
  });
});
