/** I10: sources are looked at, and what is found goes the way of a webhook: same keys, same versions, once. */
import { armFailPoint, disarmAllFailPoints } from '@headgate/telemetry';
import { eventually } from '@headgate/testkit';
import { afterEach, describe, expect, test } from 'vitest';
import { aForge } from './forge.js';

afterEach(disarmAllFailPoints);

const codes = (receipts: readonly { reasonCode: string }[]): string[] =>
  receipts.map((one) => one.reasonCode);

const HOOKED =
  'kind: github, token: "file:FOLDER/token", baseUrl: "API", webhookSecrets: [ "file:FOLDER/secret" ], scan: { every: 30s }';

describe('polling GitHub', () => {
  test('I9, I10: the first look notes what was there and starts nothing; what comes after is work, once', async () => {
    const forge = await aForge();
    const head = (await forge.git.head()) ?? '';
    forge.check(head, 'failure');
    await forge.look();
    expect(await forge.receipts()).toMatchObject([
      { reasonCode: 'NOTHING_FOUND', via: 'poll', watermark: expect.any(String) },
    ]);
    expect(await forge.runs()).toBe(0);

    const next = await forge.git.commit({ files: { 'a.txt': 'a' } });
    forge.check(next, 'failure');
    await forge.look();
    const found = (await forge.receipts()).slice(1);
    expect(found).toMatchObject([
      {
        reasonCode: 'ADMITTED',
        via: 'poll',
        type: 'github.push',
        workKey: '42/branch/main',
        inputVersion: next,
      },
      { reasonCode: 'ADMITTED', type: 'github.check_run.completed', workKey: '42/branch/main/check/unit' },
    ]);
    expect(await forge.runs()).toBe(2);
    await forge.look();
    await forge.look();
    expect(await forge.runs()).toBe(2);
    expect(await forge.receipts()).toHaveLength(3);
  });

  test('I4: hook and poll of one fact are one piece of work, whichever comes first', async () => {
    const forge = await aForge();
    await forge.look();
    const first = await forge.git.commit({ files: { 'a.txt': 'a' } });
    const byHook = forge.check(first, 'failure');
    const answer = await forge.hook('check_run', { action: 'completed', check_run: byHook });
    expect(answer.reasonCode).toBe('ADMITTED');
    await forge.look();
    expect(codes(await forge.receipts())).toEqual(['NOTHING_FOUND', 'ADMITTED', 'ADMITTED']);

    const second = await forge.git.commit({ files: { 'b.txt': 'b' } });
    const byPoll = forge.check(second, 'failure');
    await forge.look();
    const late = await forge.hook('check_run', { action: 'completed', check_run: byPoll });
    expect(late).toMatchObject({ reasonCode: 'DUPLICATE_WORK', existing: true });
    const keys = new Set((await forge.receipts()).map((one) => one.workKey).filter((one) => one !== null));
    expect(keys).toEqual(new Set(['42/branch/main/check/unit', '42/branch/main']));
    expect(await forge.runs()).toBe(4);
  });

  test('follows pull requests, issues, comments and workflow runs through their changes', async () => {
    const forge = await aForge();
    const { repository, github } = forge;
    await forge.look();
    await forge.git.commit({ branch: 'topic', files: { 'a.txt': 'a' } });
    await fetch(`${github.url}/repos/acme/api/pulls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ title: 't', head: 'topic', base: 'main' }),
    });
    const now = () => new Date().toISOString();
    const issue = {
      number: 90,
      title: 't',
      body: 'b',
      state: 'open',
      labels: [{ name: 'agent' }],
      created_at: now(),
    };
    repository.issues.push({ ...issue, updated_at: now() });
    repository.comments.push({
      id: 5,
      issueNumber: 90,
      body: '/agent fix',
      createdAt: now(),
      updatedAt: now(),
    });
    repository.workflowRuns.push({
      ...{
        id: 3,
        workflow_id: 8,
        run_attempt: 1,
        status: 'completed',
        conclusion: 'failure',
        head_branch: 'main',
      },
      ...{
        head_sha: await forge.git.head(),
        head_repository: { id: 42 },
        created_at: now(),
        updated_at: now(),
      },
    });
    await forge.look();
    const types = async () => (await forge.receipts()).map((one) => one.type).slice(1);
    expect((await types()).sort()).toEqual([
      'github.issue_comment.created',
      'github.issues.labeled',
      'github.issues.opened',
      'github.pull_request.opened',
      'github.push',
      'github.workflow_run.completed',
    ]);
    const before = (await types()).length;
    await forge.git.commit({ branch: 'topic', files: { 'b.txt': 'b' } });
    await fetch(`${github.url}/repos/acme/api/pulls/1`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ title: 'renamed' }),
    });
    await forge.look();
    expect((await types()).slice(before).sort()).toEqual(['github.pull_request.synchronize', 'github.push']);
  });

  test('asks conditionally: a look at what has not changed costs nothing of the limit', async () => {
    const forge = await aForge();
    const reconciler = forge.world.reconciler();
    await forge.look(reconciler);
    await forge.look(reconciler);
    const spent = forge.github.rate.used;
    await forge.look(reconciler);
    expect(forge.github.rate.used).toBe(spent);
    expect((await forge.watermark()).version).toBe(3);
  });
});

describe('a view that is not whole', () => {
  test('I10: nothing is learned, ended or lost by an outage, an empty list or a limit; the next look makes it good', async () => {
    const forge = await aForge();
    await forge.look();
    const sha = await forge.git.commit({ files: { 'a.txt': 'a' } });
    forge.check(sha, 'failure');

    forge.github.failNext({ fault: { kind: 'bad-gateway', when: 'before' }, count: 30 });
    await forge.look();
    expect(await forge.watermark()).toMatchObject({ version: 1, outcome: 'unavailable' });
    forge.github.clearFaults();

    forge.github.failNext({ fault: { kind: 'too-many-requests', retryAfterSeconds: 600 }, count: 1 });
    await forge.look();
    const limited = await forge.watermark();
    expect(limited).toMatchObject({ version: 1, outcome: 'limited' });
    expect(limited.nextInMs).toBeGreaterThan(500_000);
    expect(await forge.runs()).toBe(0);

    await forge.look();
    expect(await forge.runs()).toBe(2);

    // Everything disappears, as in an empty answer of a sick server: nothing is cancelled for it.
    forge.repository.checkRuns.length = 0;
    await forge.look();
    const states = await forge.world.rows<{ status: string }>('select status from headgate.run');
    expect(states.map((one) => one.status)).toEqual(['QUEUED', 'QUEUED']);
  });

  test('I10: one question without an answer spoils none of the others, and no etag hides what it held', async () => {
    const forge = await aForge();
    await forge.look();
    const sha = await forge.git.commit({ files: { 'a.txt': 'a' } });
    forge.check(sha, 'failure');
    forge.github.failNext({ fault: { kind: 'bad-gateway', when: 'before' }, count: 3, path: /check-suites/ });
    await forge.look();
    expect((await forge.receipts()).slice(1).map((one) => one.type)).toEqual(['github.push']);
    const { lookedAt } = await forge.watermark();
    await forge.look();
    expect((await forge.receipts()).slice(2).map((one) => one.type)).toEqual(['github.check_run.completed']);
    expect((await forge.watermark()).lookedAt?.getTime()).toBeGreaterThan(lookedAt?.getTime() ?? 0);
  });
});

describe('races', () => {
  async function withNews() {
    const forge = await aForge();
    await forge.look();
    const sha = await forge.git.commit({ files: { 'a.txt': 'a' } });
    const check = forge.check(sha, 'failure');
    return { forge, check };
  }

  test('I10: two reconcilers look at one repository: one looks, the other passes by', async () => {
    const { forge } = await withNews();
    const held = armFailPoint('scan.looked', 'hold');
    const first = forge.look();
    await held.reached;
    await forge.world.reconciler().round('source-scan');
    expect(held.passes()).toBe(1);
    held.disarm();
    await first;
    expect(await forge.runs()).toBe(2);
  });

  test('I10: one that was frozen beyond its claim finds that another has looked, and writes nothing', async () => {
    const { forge } = await withNews();
    const held = armFailPoint('scan.looked', 'hold');
    const frozen = forge.look();
    await held.reached;
    await forge.world.rows(
      "update headgate.watermark set claimed_until = clock_timestamp() - interval '1 second'",
    );
    const other = forge.world.reconciler();
    const second = other.round('source-scan');
    await eventually(() => held.passes() === 2, { what: 'the other one stands there, too' });
    held.disarm();
    await Promise.all([frozen, second]);
    expect(await forge.runs()).toBe(2);
    expect((await forge.watermark()).version).toBe(2);
    expect(codes(await forge.receipts())).toEqual(['NOTHING_FOUND', 'ADMITTED', 'ADMITTED']);
  });

  test('I10: a hook that arrives during the look is one piece of work with it', async () => {
    const { forge, check } = await withNews();
    const held = armFailPoint('scan.looked', 'hold');
    const looking = forge.look();
    await held.reached;
    const answer = await forge.hook('check_run', { action: 'completed', check_run: check });
    expect(answer.reasonCode).toBe('ADMITTED');
    held.disarm();
    await looking;
    expect(codes(await forge.receipts())).toEqual(['NOTHING_FOUND', 'ADMITTED', 'ADMITTED']);
    expect(await forge.runs()).toBe(2);
  });

  test('I10: a crash between admission and watermark leaves neither, and the next look finds both again', async () => {
    const { forge } = await withNews();
    const crash = armFailPoint('scan.admitted', 'throw');
    await forge.look();
    crash.disarm();
    expect(await forge.runs()).toBe(0);
    expect(await forge.watermark()).toMatchObject({ version: 1 });
    // Its claim stands until it runs out: nobody else looks before.
    await forge.look();
    expect(await forge.runs()).toBe(0);
    await forge.world.rows(
      "update headgate.watermark set claimed_until = clock_timestamp() - interval '1 second'",
    );
    await forge.look();
    expect(await forge.runs()).toBe(2);
  });
});

describe('scanning beside a hook', () => {
  test('SOURCE_SILENT: what the hook did not bring is admitted, told, and forgotten when it is heard again', async () => {
    const forge = await aForge({ source: HOOKED });
    await forge.look();
    const sha = await forge.git.commit({ files: { 'a.txt': 'a' } });
    await forge.world.rows("update headgate.watermark set looked_at = looked_at - interval '1 hour'");
    forge.check(sha, 'failure', 600_000);
    await forge.look();
    expect(await forge.receipts()).toMatchObject([
      { reasonCode: 'NOTHING_FOUND' },
      { reasonCode: 'ADMITTED', via: 'scan', type: 'github.push' },
      { reasonCode: 'ADMITTED', via: 'scan', type: 'github.check_run.completed' },
    ]);
    expect(await forge.watermark()).toMatchObject({ silentCount: 1, silentSince: expect.any(Date) });

    const next = await forge.git.commit({ files: { 'b.txt': 'b' } });
    const check = forge.check(next, 'failure');
    await forge.hook('check_run', { action: 'completed', check_run: check });
    await forge.look();
    expect(await forge.watermark()).toMatchObject({ silentCount: 0, silentSince: null });
  });

  test('I9: what no route takes gets no second receipt, and no run', async () => {
    const forge = await aForge({
      source: HOOKED,
      routes:
        '\n  fix: { on: [ github.check_run.completed ], when: event.check_run.conclusion == "failure" }\n',
    });
    await forge.look();
    const sha = await forge.git.commit({ files: { 'a.txt': 'a' } });
    forge.check(sha, 'success');
    await forge.look();
    expect(codes(await forge.receipts())).toEqual(['NOTHING_FOUND']);
  });
});

describe('polling git', () => {
  test('I1: a branch that moved is a push; a deleted one ends nothing', async () => {
    const forge = await aForge({ source: 'kind: git', routes: '\n  pushes: { on: [ git.push ] }\n' });
    await forge.git.commit({ branch: 'old', files: { 'a.txt': 'a' } });
    await forge.look();
    const sha = await forge.git.commit({ branch: 'topic', files: { 'a.txt': 'a' } });
    await forge.look();
    const receipts = (await forge.receipts()).slice(1);
    expect(receipts).toMatchObject([
      { reasonCode: 'ADMITTED', via: 'poll', type: 'git.push', inputVersion: sha },
    ]);
    expect(receipts[0]?.workKey).toMatch(/^git:[0-9a-f]{32}\/branch\/topic$/);
    await forge.git.deleteBranch('topic');
    await forge.git.deleteBranch('old');
    await forge.look();
    expect(await forge.runs()).toBe(1);
    await forge.git.remove();
    await forge.look();
    expect(await forge.watermark()).toMatchObject({ outcome: 'unavailable' });
  });
});
