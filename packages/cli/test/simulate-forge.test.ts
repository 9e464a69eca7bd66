/** `headgate simulate --from forge`: over what a forge tells that was never asked before. */
import { loadConfig } from '@headgate/config';
import { openDatabase, policies } from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import { atEnd, testDatabase, withClient } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { headgate, NOW } from './command-line.js';
import { aForgeToLookAt, type ForgeToLookAt } from './forge-to-look-at.js';

const FIX = `  fix:
    on: [ github.check_run.completed ]
    when: event.check_run.conclusion == "failure"
    limits: { costUsd: 2 }
`;
const PUSHES = '  pushes: { on: [ github.push ], limits: { costUsd: 1 } }\n';
const CHANGES = '  changes: { on: [ github.pull_request, github.issues.labeled ] }\n';

/** Main moved two days ago and its check failed; before the span it had moved, and failed, too. */
async function aFailedCheck(now: Date): Promise<ForgeToLookAt> {
  const forge = await aForgeToLookAt(now);
  const old = await forge.git.commit({ files: { 'a.txt': 'a' }, at: forge.daysAgo(9) });
  forge.check(old, 'failure', forge.daysAgo(9));
  const sha = await forge.git.commit({ files: { 'a.txt': 'b' }, at: forge.daysAgo(2) });
  forge.check(sha, 'failure', forge.daysAgo(1.9));
  return forge;
}

/** As an instance has it: a database with an active policy. */
async function anInstance(text: string, dataDir: string) {
  const { serviceUrl, ownerUrl } = await testDatabase();
  const logger = createLogger('test', { level: 'silent' });
  const database = openDatabase({ serviceUrl, applicationName: 'test', logger });
  atEnd(() => database.close());
  const loaded = await loadConfig({ text, env: {}, baseDir: dataDir, dataDir });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  await policies.activate(database.service, loaded.policy, 'test');
  return { ownerUrl, env: { DATABASE_URL_SERVICE: serviceUrl } };
}

/** Of every table, so that one that is new is not forgotten. */
const rowCounts = (ownerUrl: string): Promise<Readonly<Record<string, number>>> =>
  withClient(ownerUrl, async (client) => {
    const { rows } = await client.query(
      `select table_name as name from information_schema.tables
        where table_schema = 'headgate' and table_type = 'BASE TABLE' order by 1`,
    );
    const counts: Record<string, number> = {};
    for (const { name } of rows) {
      const found = await client.query(`select count(*)::int as n from headgate."${name}"`);
      counts[name] = found.rows[0].n;
    }
    return counts;
  });

describe('headgate simulate --from forge', () => {
  it('I10, I17: tells a newcomer who has received nothing what the last week would have been', async () => {
    const { dataDir, configure } = await aFailedCheck(NOW);
    await configure('headgate.yaml', FIX + PUSHES);

    const told = await headgate(['simulate', '--from', 'forge', '--json'], { dataDir });

    expect(told.note).toContain('No policy is active');
    expect(told.code).toBe(0);
    expect(JSON.parse(told.out)).toMatchObject({
      ...{ from: 'forge', version: null, active: null, signals: 2, complete: true, differences: [] },
      looks: [{ source: 'acme', repository: 'acme/api', outcome: 'whole', signals: 2, detail: null }],
      other: { runs: 2, pullRequests: 2, maxUsd: 3, estimatedUsd: null, skipped: {} },
    });
    const month = await headgate(['simulate', '--from', 'forge', '--since', '20d', '--json'], { dataDir });
    expect(JSON.parse(month.out)).toMatchObject({ signals: 2 });
  });

  it('I17: decides by the active policy and by a file, and writes nothing into any table', async () => {
    const forge = await aFailedCheck(new Date());
    const { dataDir, configure, github } = forge;
    const { env, ownerUrl } = await anInstance(await configure('headgate.yaml', FIX + PUSHES), dataDir);
    await configure('new.yaml', FIX.replace('"failure"', '"nothing"') + PUSHES);
    const before = await rowCounts(ownerUrl);
    expect(Object.keys(before)).toEqual(expect.arrayContaining(['receipt', 'watermark', 'source_fact']));

    const words = ['simulate', '--from', 'forge', '--since', '7d', '--config', 'new.yaml'];
    const told = await headgate([...words, '--json'], { dataDir, env });

    const report = JSON.parse(told.out);
    expect(report).toMatchObject({ version: 1, signals: 2, active: { runs: 2 }, complete: true });
    expect(report.other).toMatchObject({ runs: 1, skipped: { NOT_ELIGIBLE: 1 } });
    expect(report.differences).toMatchObject([{ before: ['fix ADMITTED'], after: ['NOT_ELIGIBLE'] }]);
    expect(await rowCounts(ownerUrl)).toEqual(before);
    expect(github.log.entries.filter(({ method }) => method !== 'GET')).toEqual([]);
    const people = await headgate(words, { dataDir, env });
    expect(people.out).toContain('active (version 1)');
    expect(people.out).toContain('Decided differently (1)');
  });

  it('I10: pull requests and labels are told by what they were when the span began', async () => {
    const forge = await aForgeToLookAt(NOW);
    const { dataDir, configure, daysAgo, git, repository } = forge;
    const times = (createdDaysAgo: number, updatedDaysAgo: number) => ({
      createdAt: daysAgo(createdDaysAgo).toISOString(),
      updatedAt: daysAgo(updatedDaysAgo).toISOString(),
    });
    const pull = { baseRef: 'main', title: 't', body: null, isMerged: false, isDraft: false };
    await git.commit({ branch: 'moved', files: { 'a.txt': 'a' }, at: daysAgo(20) });
    await git.commit({ branch: 'moved', files: { 'a.txt': 'b' }, at: daysAgo(3) });
    await git.commit({ branch: 'talked', files: { 'b.txt': 'b' }, at: daysAgo(20) });
    await git.commit({ branch: 'young', files: { 'c.txt': 'c' }, at: daysAgo(2) });
    repository.pulls.push(
      { ...pull, number: 1, headRef: 'moved', state: 'open', ...times(20, 3) },
      { ...pull, number: 2, headRef: 'talked', state: 'open', ...times(20, 1) },
      { ...pull, number: 3, headRef: 'young', state: 'open', ...times(2, 2) },
      { ...pull, number: 4, headRef: 'talked', state: 'closed', ...times(20, 2) },
    );
    const issue = { title: 't', body: 'b', state: 'open', labels: [{ name: 'old' }, { name: 'agent' }] };
    const updated = { created_at: daysAgo(40).toISOString(), updated_at: daysAgo(1).toISOString() };
    repository.issues.push({ ...issue, number: 90, ...updated });
    const labelled = { issue: 90, event: 'labeled' };
    repository.issueEvents.push(
      { ...labelled, label: { name: 'old' }, created_at: daysAgo(30).toISOString() },
      { ...labelled, label: { name: 'agent' }, created_at: daysAgo(1).toISOString() },
    );
    await configure('headgate.yaml', CHANGES);
    await configure('nothing.yaml', CHANGES.replace(' }', ', when: "false" }'));

    const [all, none] = await Promise.all(
      ['headgate.yaml', 'nothing.yaml'].map(async (file) => {
        const words = ['simulate', '--from', 'forge', '--config', file, '--json'];
        return JSON.parse((await headgate(words, { dataDir })).out);
      }),
    );

    // Opened #3, pushed to #1, closed #4, labelled #90; nothing became of #2 but talk.
    expect(all).toMatchObject({ signals: 4, complete: true });
    expect(none.other.skipped).toEqual({ NOT_ELIGIBLE: 4 });
  });

  it('I10: a repository that is younger than the span is told from its beginning', async () => {
    const { dataDir, configure } = await aFailedCheck(NOW);
    await configure('headgate.yaml', FIX + PUSHES);
    const words = ['simulate', '--from', 'forge', '--since', '60d', '--json'];
    const told = await headgate(words, { dataDir });
    expect(JSON.parse(told.out)).toMatchObject({ signals: 2, other: { runs: 2 }, complete: true });
  });

  it('I10: a command on a pull request is read to its head, as it would be before it is decided', async () => {
    const { dataDir, configure, daysAgo, git, repository } = await aForgeToLookAt(NOW);
    await git.commit({ branch: 'topic', files: { 'a.txt': 'a' }, at: daysAgo(20) });
    const pull = {
      number: 7,
      headRef: 'topic',
      baseRef: 'main',
      title: 't',
      body: null,
      state: 'open' as const,
    };
    const times = { createdAt: daysAgo(20).toISOString(), updatedAt: daysAgo(1).toISOString() };
    repository.pulls.push({ ...pull, ...times, isMerged: false, isDraft: false });
    repository.issues.push({
      ...{ number: 7, title: 't', body: null, state: 'open', labels: [], pull_request: {} },
      ...{ created_at: times.createdAt, updated_at: times.updatedAt },
    });
    const saidAt = daysAgo(1).toISOString();
    const ada = { login: 'ada', id: 5, type: 'User' };
    repository.comments.push({
      id: 5,
      issueNumber: 7,
      body: '/agent fix',
      user: ada,
      createdAt: saidAt,
      updatedAt: saidAt,
    });
    await configure(
      'headgate.yaml',
      '  ask: { on: [ github.issue_comment.created ], when: command.name == "fix" }\n',
    );

    const told = await headgate(['simulate', '--from', 'forge', '--json'], { dataDir });

    expect(JSON.parse(told.out)).toMatchObject({ signals: 1, other: { runs: 1, skipped: {} } });
  });

  it('I10: a git source is told by the dates of its commits', async () => {
    const { dataDir, configure, git, daysAgo } = await aForgeToLookAt(NOW);
    await git.commit({ branch: 'feature/old', files: { 'a.txt': 'a' }, at: daysAgo(20) });
    await git.commit({ branch: 'feature/new', files: { 'b.txt': 'b' }, at: daysAgo(2) });
    await configure('headgate.yaml', '  look: { on: [ git.push ], branches: [ "feature/*" ] }\n');

    const told = await headgate(['simulate', '--from', 'forge', '--json'], { dataDir });

    expect(JSON.parse(told.out)).toMatchObject({
      ...{ signals: 1, complete: true, looks: [{ source: 'mirror', outcome: 'whole' }] },
      other: { runs: 1 },
    });
  });

  it('I10: what could not be seen is not counted as nothing: the answer is partial, and says why', async () => {
    const { dataDir, configure, github } = await aFailedCheck(NOW);
    await configure('headgate.yaml', FIX + PUSHES);
    const resetAt = new Date(Date.now() + 600_000);
    github.failNext({ path: /check-runs/, fault: { kind: 'used-up', resetAt }, count: 100 });

    const told = await headgate(['simulate', '--from', 'forge', '--json'], { dataDir });

    expect(told.code).toBe(0);
    const [look] = JSON.parse(told.out).looks;
    expect(JSON.parse(told.out)).toMatchObject({ complete: false, other: { runs: 1 } });
    expect(look).toMatchObject({ outcome: 'partial', detail: expect.stringContaining('403') });
    expect(new Date(look.until).getTime()).toBeGreaterThan(Date.now());
    const people = await headgate(['simulate', '--from', 'forge'], { dataDir });
    expect(people.out).toContain('Partial');
  });

  it('I10: no news is made of a history that cannot be read', async () => {
    const { dataDir, configure, github } = await aFailedCheck(NOW);
    await configure('headgate.yaml', PUSHES);
    github.failNext({ path: /commits$/, fault: { kind: 'forbidden' }, count: 100 });
    const told = await headgate(['simulate', '--from', 'forge', '--json'], { dataDir });
    expect(JSON.parse(told.out)).toMatchObject({ signals: 0, complete: false });
  });

  it('the last of a rate limit is left to the services', async () => {
    const { dataDir, configure, github } = await aFailedCheck(NOW);
    await configure('headgate.yaml', PUSHES);
    for (let used = 0; used < 4_600; used += 1) github.rate.spend();
    const told = await headgate(['simulate', '--from', 'forge', '--json'], { dataDir });
    expect(told.code).toBe(4);
    expect(told.note).toContain('left to the services');
    expect(github.log.entries).toHaveLength(1);
  });

  it('a forge that does not answer, or refuses all, is an error and not a quiet week', async () => {
    const { dataDir, configure, github } = await aFailedCheck(NOW);
    await configure('headgate.yaml', PUSHES);
    github.failNext({ fault: { kind: 'forbidden' }, count: 100 });
    const denied = await headgate(['simulate', '--from', 'forge'], { dataDir });
    expect(denied).toMatchObject({ code: 5, out: '' });
    await github.stop();
    const gone = await headgate(['simulate', '--from', 'forge'], { dataDir });
    expect(gone).toMatchObject({ code: 4, out: '' });
    expect(gone.note).toContain('acme/api: unavailable');
  });

  it.each([
    [['--from', 'moon'], 'receipts, forge'],
    [['--from', 'forge', '--since', '0d'], '90d'],
    [['--from', 'forge', '--since', 'week'], 'duration'],
    [['--from', 'forge', '--config', 'none.yaml'], 'none.yaml'],
    [['--from', 'forge'], 'nothing to look at'],
  ])('refuses %j with what to write instead', async (options, words) => {
    const { dataDir, configure } = await aForgeToLookAt(NOW);
    await configure('headgate.yaml', '  asked: { on: [ manual ], repositories: [ acme/api ] }\n');
    const told = await headgate(['simulate', ...options], { dataDir });
    expect(told.code).toBe(2);
    expect(told.note).toContain(words);
  });
});
