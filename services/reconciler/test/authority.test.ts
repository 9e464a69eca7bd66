/** `authority: source`: a payload only wakes; what it is about is read at the source, and that decides. */
import { armFailPoint, disarmAllFailPoints } from '@headgate/telemetry';
import type { PullRequestRecord } from '@headgate/testkit/github';
import { afterEach, describe, expect, test } from 'vitest';
import { aForge, type Forge } from './forge.js';

afterEach(disarmAllFailPoints);

const SOURCE =
  'kind: github, token: "file:FOLDER/token", baseUrl: "API", webhookSecrets: [ "file:FOLDER/secret" ], authority: source, scan: false, redeliver: 0';
const ROUTES = `
  fix: { on: [ github.check_run.completed ], when: event.check_run.conclusion == "failure" }
  pulls: { on: [ github.pull_request ], labels: { none: [ blocked ] }, associations: [ MEMBER ], drafts: false }
  labelled: { on: [ github.pull_request.labeled ], labels: [ agent ], work: { key: "label/{{ target.id }}" } }
  ask: { on: [ github.issue_comment.created ], when: command.name == "fix" }
`;
const ADA = { id: 5, login: 'ada', type: 'User' };
const LONG_AGO = '2026-01-01T00:00:00Z';

const awake = (routes = ROUTES): Promise<Forge> => aForge({ source: SOURCE, routes });
const read = (forge: Forge): Promise<void> => forge.world.reconciler().round('unresolved-heads');
const codes = async (forge: Forge): Promise<string[]> =>
  (await forge.receipts()).map((receipt) => receipt.reasonCode);
const asked = (forge: Forge): string[] => forge.github.log.entries.map(({ path }) => path);

async function aPull(forge: Forge, change: Partial<PullRequestRecord> = {}): Promise<string> {
  const sha = await forge.git.commit({ branch: 'topic', files: { 'a.txt': 'a' } });
  forge.repository.pulls.push({
    ...{ number: 7, headRef: 'topic', baseRef: 'main', title: 'A', body: null, state: 'open' },
    ...{ isMerged: false, isDraft: false, createdAt: LONG_AGO, updatedAt: LONG_AGO },
    ...change,
  });
  return sha;
}

/** Everything that a liar would write. */
const liesAboutPull = (sha = 'f'.repeat(40)) => ({
  number: 7,
  state: 'open',
  draft: false,
  author_association: 'OWNER',
  labels: [{ name: 'agent' }],
  user: { id: 1, login: 'boss', type: 'User' },
  head: { sha, ref: 'topic', repo: { id: 42 } },
  base: { ref: 'main', repo: { id: 42 } },
});

describe('a payload that only wakes', () => {
  test('I5, I6: is answered with a deferral, without asking anybody; what was read is decided under a receipt of its own', async () => {
    const forge = await awake();
    const sha = (await forge.git.head()) ?? '';
    const check = forge.check(sha, 'failure');
    const answer = await forge.hook('check_run', {
      action: 'completed',
      check_run: { ...check, head_sha: 'f'.repeat(40), name: 'another' },
    });
    expect(answer).toMatchObject({ outcome: 'defer', reasonCode: 'HEAD_UNRESOLVED', runId: null });
    // The hook of the test asks for the repository's own page.
    expect(asked(forge).filter((path) => path !== '/repos/acme/api')).toEqual([]);
    // Its time alone promotes nothing.
    await forge.world.reconciler({ lateMs: 0 }).round('overdue-signals');
    expect(await codes(forge)).toEqual(['HEAD_UNRESOLVED']);

    await read(forge);
    const [wake, decided] = await forge.world.rows<{ id: string; parent: string | null }>(
      "select id, parent_receipt_id as parent from headgate.receipt where kind = 'decision' order by id",
    );
    expect(decided?.parent).toBe(wake?.id);
    expect((await forge.receipts())[1]).toMatchObject({
      reasonCode: 'ADMITTED',
      workKey: '42/branch/main/check/unit',
      inputVersion: sha,
    });
    expect(await forge.world.rows('select 1 from headgate.deferred_signal')).toEqual([]);
  });

  test('I5: a check that is called failed and is not has no effect', async () => {
    const forge = await awake();
    const check = forge.check((await forge.git.head()) ?? '', 'success');
    await forge.hook('check_run', { action: 'completed', check_run: { ...check, conclusion: 'failure' } });
    await forge.hook('check_run', { action: 'completed', check_run: { ...check, id: 999_999 } });
    await read(forge);
    expect(await codes(forge)).toEqual([
      ...['HEAD_UNRESOLVED', 'HEAD_UNRESOLVED'],
      ...['NOT_ELIGIBLE', 'TARGET_CLOSED'],
    ]);
    expect(await forge.runs()).toBe(0);
  });

  test('I5: labels, association, draft and head are the source’s, whatever the payload says', async () => {
    const forge = await awake();
    const sha = await aPull(forge, { isDraft: true, labels: ['blocked'], association: 'NONE' });
    const [pull] = forge.repository.pulls;
    const said = () => forge.hook('pull_request', { action: 'edited', pull_request: liesAboutPull() });
    const rule = async () =>
      (
        await forge.world.rows<{ rule: string }>('select rule from headgate.receipt order by id desc limit 1')
      )[0]?.rule;
    if (pull === undefined) throw new Error('no pull request');

    await said();
    await read(forge);
    expect(await rule()).toBe('route.labels');
    pull.labels = [];
    await said();
    await read(forge);
    expect(await rule()).toBe('route.associations');
    pull.association = 'MEMBER';
    await said();
    await read(forge);
    expect(await rule()).toBe('route.drafts');
    expect(await forge.runs()).toBe(0);

    pull.isDraft = false;
    await said();
    await read(forge);
    expect((await forge.receipts()).at(-1)).toMatchObject({
      reasonCode: 'ADMITTED',
      workKey: '42/pr/7',
      inputVersion: sha,
    });
  });

  test('I5: what was said to be done and was not is no work', async () => {
    const forge = await awake();
    await aPull(forge);
    for (const action of ['closed', 'converted_to_draft', 'labeled']) {
      const label = { name: 'agent' };
      await forge.hook('pull_request', { action, pull_request: liesAboutPull(), label });
    }
    await read(forge);
    expect((await codes(forge)).slice(3)).toEqual(['STALE_INPUT', 'STALE_INPUT', 'STALE_INPUT']);
    expect(await forge.world.rows('select 1 from headgate.publication_end')).toEqual([]);
  });

  test('I4: another repository’s number in the payload changes neither the work key nor what names are known', async () => {
    const forge = await awake();
    const check = forge.check((await forge.git.head()) ?? '', 'failure');
    const repository = { id: 666, full_name: 'acme/api', default_branch: 'evil' };
    await forge.hook('check_run', { action: 'completed', check_run: check, repository });
    const known = () => forge.world.rows('select forge_id as id from headgate.forge_repository');
    expect(await known()).toEqual([]);
    await read(forge);
    expect((await forge.receipts())[1]).toMatchObject({ workKey: '42/branch/main/check/unit' });
    expect(await known()).toEqual([{ id: '42' }]);
  });

  test('what no route listens to is refused at once, and a record that GitHub does not keep is not believed', async () => {
    const forge = await awake(`${ROUTES}\n  again: { on: [ github.check_run.rerequested, github.release ] }`);
    const check = forge.check((await forge.git.head()) ?? '', 'failure');
    expect(await forge.hook('push', { ref: 'refs/heads/main' })).toMatchObject({ reasonCode: 'NO_ROUTE' });
    await forge.hook('check_run', { action: 'rerequested', check_run: check, sender: ADA });
    await forge.hook('release', { action: 'published', release: { id: 1 } });
    await read(forge);
    const untold = (await forge.receipts()).slice(3);
    expect(untold.map(({ reasonCode }) => reasonCode)).toEqual(['SOURCE_UNAVAILABLE', 'SOURCE_UNAVAILABLE']);
    expect(untold[0]?.message).toContain('GitHub keeps no record of github.check_run.rerequested');
    expect(await forge.runs()).toBe(0);
  });

  test('I3: every route decides by what was read, each with its receipt', async () => {
    const forge = await awake();
    await aPull(forge, { labels: ['agent'] });
    const event = { issue: 7, event: 'labeled', label: { name: 'agent' }, actor: ADA, created_at: LONG_AGO };
    forge.repository.issueEvents.push(event);
    await forge.hook('pull_request', {
      ...{ action: 'labeled', pull_request: liesAboutPull(), label: { name: 'agent' } },
      sender: { id: 1, login: 'boss', type: 'User' },
    });
    await read(forge);
    expect((await forge.receipts()).slice(1).map(({ reasonCode, workKey }) => [reasonCode, workKey])).toEqual(
      [
        ['ADMITTED', '42/pr/7'],
        ['ADMITTED', 'label/7'],
      ],
    );
    const [run] = await forge.world.rows<{ asker: unknown }>(
      "select spec -> 'claim' -> 'asker' as asker from headgate.run limit 1",
    );
    // Who did it is the record's, not the payload's.
    expect(run?.asker).toEqual({ kind: 'actor', login: 'ada' });
  });

  test('a fork that was pushed to after it was labelled is not taken', async () => {
    const forge = await awake();
    const fork = { id: 99, fullName: 'eve/api', headSha: 'd'.repeat(40), pushedAt: '2026-03-01T00:00:00Z' };
    await aPull(forge, { labels: ['agent'], fork });
    const event = { issue: 7, event: 'labeled', label: { name: 'agent' }, actor: ADA };
    forge.repository.issueEvents.push({ ...event, created_at: '2026-02-01T00:00:00Z' });
    await forge.hook('pull_request', {
      ...{ action: 'labeled', pull_request: liesAboutPull(), label: { name: 'agent' } },
    });
    await read(forge);
    expect((await codes(forge)).slice(1)).toEqual(['STALE_INPUT']);
  });

  test('I4: a command that two hooks bring is heard once; its writer and its text are the source’s', async () => {
    const forge = await awake();
    forge.repository.issues.push({ number: 3, title: 't', body: 'b', state: 'open', updated_at: LONG_AGO });
    const [createdAt, updatedAt] = [LONG_AGO, LONG_AGO];
    forge.repository.comments.push(
      { id: 8, issueNumber: 3, body: '/agent fix', user: ADA, createdAt, updatedAt },
      { id: 9, issueNumber: 3, body: 'thank you', user: ADA, createdAt, updatedAt },
    );
    const say = (id: number) =>
      forge.hook('issue_comment', {
        action: 'created',
        issue: { number: 4 },
        comment: { id, body: '/agent fix everything' },
        sender: { id: 1, login: 'boss', type: 'User' },
      });
    for (const id of [8, 8, 9]) await say(id);
    await read(forge);
    const decided = (await forge.receipts()).slice(3);
    expect(decided.map(({ reasonCode }) => reasonCode).sort()).toEqual([
      ...['ADMITTED', 'DUPLICATE_HOOK', 'NOT_ELIGIBLE'],
    ]);
    expect(decided.find((one) => one.reasonCode === 'ADMITTED')?.workKey).toBe('42/issue/3');
  });
});

describe('between the wake and the read', () => {
  test('I6: the source moves: the newest wins, and what woke first is the same work', async () => {
    const forge = await awake();
    const first = await aPull(forge);
    await forge.hook('pull_request', { action: 'synchronize', pull_request: liesAboutPull(first) });
    const second = await forge.git.commit({ branch: 'topic', files: { 'b.txt': 'b' } });
    await forge.hook('pull_request', { action: 'synchronize', pull_request: liesAboutPull(second) });
    await read(forge);
    const decided = (await forge.receipts()).slice(2);
    expect(decided).toMatchObject([
      { reasonCode: 'ADMITTED', inputVersion: second },
      { reasonCode: 'DUPLICATE_WORK', inputVersion: second },
    ]);
    expect(await forge.runs()).toBe(1);
  });

  test('I6: thirty wakes of one pull request cost one read of it, and become one run', async () => {
    const forge = await awake();
    await aPull(forge);
    for (let wake = 0; wake < 30; wake += 1) {
      await forge.hook('pull_request', { action: 'edited', pull_request: liesAboutPull() });
    }
    const before = forge.github.log.entries.length;
    await read(forge);
    expect(asked(forge).slice(before)).toEqual(['/repos/acme/api', '/repos/acme/api/pulls/7']);
    expect(await forge.runs()).toBe(1);
    const decided = (await codes(forge)).slice(30);
    expect(decided.filter((code) => code === 'ADMITTED')).toHaveLength(1);
    expect(decided.filter((code) => code === 'DUPLICATE_WORK')).toHaveLength(29);
  });

  test('two reconcilers read, one decides; a crash after the read loses nothing', async () => {
    const forge = await awake();
    await aPull(forge);
    await forge.hook('pull_request', { action: 'edited', pull_request: liesAboutPull() });
    const crash = armFailPoint('heads.read', 'throw');
    await read(forge);
    crash.disarm();
    expect(await codes(forge)).toEqual(['HEAD_UNRESOLVED']);
    await forge.world.rows('update headgate.deferred_signal set due_at = clock_timestamp()');
    await Promise.all([read(forge), read(forge), read(forge)]);
    expect(await codes(forge)).toEqual(['HEAD_UNRESOLVED', 'ADMITTED']);
    expect(await forge.runs()).toBe(1);
  });

  test('I6: a source that cannot be read puts it off, and after its deadline it is refused: nothing is guessed', async () => {
    const forge = await awake();
    await aPull(forge);
    await forge.hook('pull_request', { action: 'edited', pull_request: liesAboutPull() });
    forge.github.failNext({ fault: { kind: 'forbidden' }, count: 100 });
    await read(forge);
    expect(await codes(forge)).toEqual(['HEAD_UNRESOLVED']);
    await forge.world.rows('update headgate.deferred_signal set due_at = clock_timestamp(), tries = 11');
    await read(forge);
    expect((await forge.receipts())[1]).toMatchObject({
      reasonCode: 'SOURCE_UNAVAILABLE',
      message: expect.stringContaining('It was tried 12 times.'),
    });
    expect(await forge.runs()).toBe(0);
  });

  test('a rate limit is waited for, not asked against', async () => {
    const forge = await awake();
    await aPull(forge);
    await forge.hook('pull_request', { action: 'edited', pull_request: liesAboutPull() });
    forge.github.failNext({ fault: { kind: 'too-many-requests', retryAfterSeconds: 600 } });
    await read(forge);
    const [waiting] = await forge.world.rows<{ inSeconds: number }>(
      'select extract(epoch from due_at - clock_timestamp())::int as "inSeconds" from headgate.deferred_signal',
    );
    expect(waiting?.inSeconds).toBeGreaterThan(500);
  });
});
