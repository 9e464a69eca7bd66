/** Commands about the active policy, against a real Postgres. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { atEnd, testDatabase, withClient } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { headgate, temporaryFolder } from './command-line.js';

const YAML = (more = '') => `version: 1
sources:
  forge:
    kind: github
    webhookSecrets: [ "\${SECRET:-x}" ]
    repositories: { acme/api: { url: local:api.git } }
agents: { tool: { runtime: command, command: [tool] } }
limits: { maxActive: 2 }
routes:
  fix:
    use: fix-failing-check@1
${more}`;

async function place() {
  const dataDir = await temporaryFolder();
  const { ownerUrl, serviceUrl } = await testDatabase();
  await writeFile(join(dataDir, 'headgate.yaml'), YAML());
  const env = { DATABASE_URL_SERVICE: serviceUrl };
  const write = (name: string, text: string) => writeFile(join(dataDir, name), text);
  return {
    dataDir,
    ownerUrl,
    serviceUrl,
    write,
    run: (...words: string[]) => headgate(words, { dataDir, env }),
  };
}

/** The same Postgres behind a port that counts who comes. */
async function counted(serviceUrl: string) {
  const url = new URL(serviceUrl);
  const to = { host: url.hostname, port: Number(url.port) };
  let count = 0;
  const proxy = createServer((client) => {
    count += 1;
    const server = connect(to);
    // Either end may go first.
    for (const end of [client, server]) end.on('error', () => end.destroy());
    client.pipe(server).pipe(client);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  atEnd(() => new Promise<void>((closed) => proxy.close(() => closed())));
  url.hostname = '127.0.0.1';
  url.port = String((proxy.address() as AddressInfo).port);
  return { url: url.href, opened: () => count };
}

const byPath = (a: { path: string }, b: { path: string }) => a.path.localeCompare(b.path);

describe('headgate config', () => {
  it('Q7: applies a file, shows the difference, tells the history, and goes back', async () => {
    const { run, write } = await place();
    expect(await run('config', 'show', '--active')).toMatchObject({ code: 3 });

    const first = JSON.parse((await run('config', 'apply', '--json', '--reason', 'begin')).out);
    expect(first).toMatchObject({ previousVersion: null, changed: true, undispatched: 0 });
    expect((await run('config', 'diff')).out).toContain(`means the same as version ${first.version}`);
    expect(JSON.parse((await run('config', 'apply', '--json')).out)).toMatchObject({ changed: false });

    await write('new.yaml', YAML('    mode: propose\n').replace('maxActive: 2', 'maxActive: 1'));
    const changes = JSON.parse((await run('config', 'diff', 'new.yaml', '--json')).out).changes;
    expect(changes.toSorted(byPath)).toEqual([
      { path: 'limits.maxActive', before: 2, after: 1 },
      { path: 'routes.fix.mode', before: 'act', after: 'propose' },
    ]);
    const second = JSON.parse((await run('config', 'apply', 'new.yaml', '--json')).out);
    expect(second).toMatchObject({ previousVersion: first.version, changed: true });

    const stale = await run('config', 'apply', '--over', String(first.version));
    expect(stale).toMatchObject({ code: 1 });
    expect(stale.note).toContain('somebody was faster');

    const back = await run('config', 'rollback', '--json');
    expect(JSON.parse(back.out)).toMatchObject({ version: first.version, previousVersion: second.version });
    const { items } = JSON.parse((await run('config', 'history', '--json')).out);
    expect(items.map((one: { version: number; reason: string }) => [one.version, one.reason])).toEqual([
      [first.version, `back to version ${first.version}`],
      [second.version, null],
      [first.version, 'begin'],
    ]);
    expect(items[0]).toMatchObject({ isActive: true, actor: expect.stringMatching(/^cli/) });
  });

  it('a rollback says which version is active, in the place of which, and since when where nothing changed', async () => {
    const { run, write } = await place();
    const { version: first } = JSON.parse((await run('config', 'apply', '--json')).out);
    const alone = await run('config', 'rollback', String(first));
    expect(alone.out).toMatch(
      /^Version \d+ is the active one already since \d{4}-\d\d-\d\dT[\d:]{8}Z \(.+\)\. Nothing was changed\.\n$/,
    );
    await write('headgate.yaml', YAML().replace('maxActive: 2', 'maxActive: 3'));
    const { version: second } = JSON.parse((await run('config', 'apply', '--json')).out);
    const back = await run('config', 'rollback');
    expect(back.out).toBe(`✓ Version ${first} is active again, in the place of version ${second}.\n`);
    const again = await run('config', 'rollback', String(first), '--json');
    expect(JSON.parse(again.out)).toMatchObject({
      version: first,
      changed: false,
      activatedAt: expect.stringMatching(/Z$/),
    });
  });

  it('what is activated and since when is asked in one session', async () => {
    const { dataDir, serviceUrl, write } = await place();
    const { url, opened } = await counted(serviceUrl);
    const run = (...words: string[]) => headgate(words, { dataDir, env: { DATABASE_URL_SERVICE: url } });
    const { activatedAt } = JSON.parse((await run('config', 'apply', '--json')).out);
    expect(opened()).toBe(1);
    expect((await run('config', 'apply')).out).toContain(` since ${activatedAt.slice(0, 19)}Z (`);
    expect(opened()).toBe(2);
    await write('headgate.yaml', YAML().replace('maxActive: 2', 'maxActive: 3'));
    await run('config', 'apply');
    expect(await run('config', 'rollback')).toMatchObject({ code: 0 });
    expect(opened()).toBe(4);
  });

  it('a file with problems, a version that is not there, and no database end with what to do', async () => {
    const { run, write, dataDir } = await place();
    await write('bad.yaml', 'version: 1\nroute: {}\n');
    const bad = await run('config', 'apply', 'bad.yaml');
    expect(bad.code).toBe(2);
    expect(bad.note).toContain('Did you mean "routes"?');
    await run('config', 'apply');
    expect(await run('config', 'rollback', '77')).toMatchObject({ code: 3 });
    expect(await headgate(['config', 'diff'], { dataDir })).toMatchObject({ code: 4 });
  });

  it('a policy that an older version stored is shown, compared and rolled back to', async () => {
    const { run, ownerUrl } = await place();
    const first = JSON.parse((await run('config', 'apply', '--json')).out);
    // As the first release stored it: none of what routes have learned since.
    await withClient(ownerUrl, (client) =>
      client.query(
        `update headgate.policy_version set policy = jsonb_set(policy, '{routes}', (
           select jsonb_agg(route - 'scope' - 'debounce' - 'maxOpenPullRequests' - 'repositoryFile')
             from jsonb_array_elements(policy -> 'routes') route))`,
      ),
    );
    expect(JSON.parse((await run('config', 'diff', '--json')).out)).toEqual({
      version: first.version,
      changes: [],
    });
  });

  it('prints the JSON Schemas', async () => {
    const { run } = await place();
    expect(JSON.parse((await run('config', 'schema')).out)).toMatchObject({ title: 'headgate.yaml' });
    expect(JSON.parse((await run('config', 'schema', '--repository')).out)).toMatchObject({
      title: '.headgate.yaml',
    });
    expect(JSON.parse((await run('check-config', '--schema')).out)).toMatchObject({ title: 'headgate.yaml' });
  });
});

describe('headgate presets', () => {
  it('lists them, shows one as YAML, and names the nearest', async () => {
    const { run } = await place();
    expect((await run('presets')).out).toContain('fix-failing-check@1');
    expect((await run('presets', 'show', 'fix-failing-check@1')).out).toContain('github.check_run.completed');
    const wrong = await run('presets', 'show', 'fix-failing-check@2');
    expect(wrong).toMatchObject({ code: 3 });
    expect(wrong.note).toContain('fix-failing-check@1');
  });
});

describe('headgate check-config --explain', () => {
  it('I7: shows every rule with its verdict, key, version and outcome, decided by the real code', async () => {
    const { run } = await place();
    const explained = JSON.parse(
      (await run('check-config', '--explain', 'check_run.completed#0', '--json')).out,
    );
    expect(explained.routes[0]).toMatchObject({
      route: 'fix',
      takes: true,
      outcome: 'accept',
      reasonCode: 'ADMITTED',
      workKey: expect.stringMatching(/^\d+\/.*check\//),
      inputVersion: expect.stringMatching(/^[0-9a-f]{40}$/),
    });
    expect(explained.routes[0].rules.map((one: { rule: string }) => one.rule)).toContain('route.when');
    const people = await run('check-config', '--explain', 'check_run.completed#0');
    expect(people.out).toMatch(/✓ fix\n +✓ on, .*when.*\n +key /);
  });

  it('I7: a sample is about a repository of the source that would receive it, else of the one that is named', async () => {
    const { run } = await place();
    const aboutOf = async (...words: string[]) =>
      JSON.parse((await run('check-config', '--explain', 'check_run.completed', '--json', ...words)).out)
        .repository;
    expect(await aboutOf()).toBe('acme/api');
    expect(await aboutOf('--repository', 'acme/other')).toBe('acme/other');
    const bus = await run('check-config', '--explain', 'cloudevents.build.failed');
    expect(bus).toMatchObject({ code: 2, note: expect.stringContaining('no source of kind cloudevents') });
  });

  it('I7: a payload in a file, and a signal that no route takes: exit 1 and the rule that rejects', async () => {
    const { run, write } = await place();
    await write(
      'check_run.json',
      JSON.stringify({
        action: 'completed',
        repository: { id: 42, full_name: 'acme/api' },
        check_run: { name: 'unit', conclusion: 'success', head_sha: 'a'.repeat(40), pull_requests: [] },
      }),
    );
    const refused = await run('check-config', '--explain', 'check_run.json', '--json');
    expect(refused.code).toBe(1);
    const explained = JSON.parse(refused.out);
    expect(explained.verdict).toMatchObject({ reasonCode: 'NOT_ELIGIBLE' });
    expect(explained.routes[0].rules.find((one: { holds: boolean }) => !one.holds)).toMatchObject({
      rule: 'route.when',
    });
    expect(await run('check-config', '--explain', 'nothing')).toMatchObject({ code: 2 });
    expect(await run('check-config', '--explain', 'missing.json')).toMatchObject({ code: 2 });
  });
});
