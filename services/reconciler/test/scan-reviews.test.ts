/** I10: reviews, comments on code and commands on pull requests are found by looking, too, and are the same work. */
import type { PullRequestRecord } from '@headgate/testkit/github';
import { describe, expect, test } from 'vitest';
import { aForge, type Forge } from './forge.js';

const HOOKED =
  'kind: github, token: "file:FOLDER/token", baseUrl: "API", webhookSecrets: [ "file:FOLDER/secret" ], scan: { every: 30s }';
const ROUTES = `
  reviews: { on: [ github.pull_request_review.submitted, github.pull_request_review_comment.created ] }
  ask: { on: [ github.issue_comment.created ], when: command.name == "fix" }
`;
const ADA = { id: 5, login: 'ada', type: 'User' };
const now = (): string => new Date().toISOString();

const hooked = (): Promise<Forge> => aForge({ source: HOOKED, routes: ROUTES });

async function aPull(forge: Forge, number = 7): Promise<PullRequestRecord> {
  const headRef = `topic-${number}`;
  await forge.git.commit({ branch: headRef, files: { 'a.txt': `${number}` } });
  const pull: PullRequestRecord = {
    ...{ number, headRef, baseRef: 'main', title: 'A', body: null, state: 'open' },
    ...{ isMerged: false, isDraft: false, createdAt: now(), updatedAt: now() },
  };
  forge.repository.pulls.push(pull);
  forge.repository.issues.push({
    ...{ number, title: 'A', body: null, state: 'open', updated_at: now() },
    pull_request: {},
  });
  return pull;
}

/** Somebody reviews a pull request at its head, which moves it. */
async function aReview(forge: Forge, pull: PullRequestRecord, id: number) {
  const review = {
    ...{ id, pull: pull.number, user: ADA, body: 'please mend', state: 'CHANGES_REQUESTED' },
    ...{ commit_id: await forge.git.head(pull.headRef), submitted_at: now() },
  };
  forge.repository.reviews.push(review);
  pull.updatedAt = now();
  return review;
}

/** As GitHub's webhook tells it. */
const told = (pull: PullRequestRecord, review: Awaited<ReturnType<typeof aReview>>) => ({
  action: 'submitted',
  review: { ...review, state: 'changes_requested' },
  pull_request: {
    number: pull.number,
    head: { sha: review.commit_id, ref: pull.headRef, repo: { id: 42 } },
    base: { ref: 'main', repo: { id: 42 } },
  },
  sender: ADA,
});

const admitted = async (forge: Forge) =>
  (await forge.receipts())
    .filter(({ reasonCode }) => reasonCode === 'ADMITTED')
    .map(({ workKey, inputVersion }) => [workKey, inputVersion]);

describe('a review', () => {
  test('I4, I10: is found where the hook was silent, with the key and version of its webhook, once', async () => {
    const forge = await hooked();
    const pull = await aPull(forge);
    await forge.look();
    const review = await aReview(forge, pull, 31);
    await forge.look();
    await forge.look();
    expect(await admitted(forge)).toEqual([['42/pr/7/review/31', review.commit_id]]);
    const late = await forge.hook('pull_request_review', told(pull, review));
    expect(late).toMatchObject({ reasonCode: 'DUPLICATE_WORK', existing: true });
  });

  test('I10: that a hook brought is no news, also when our answer has moved the head since', async () => {
    const forge = await hooked();
    const pull = await aPull(forge);
    await forge.look();
    const review = await aReview(forge, pull, 31);
    await forge.hook('pull_request_review', told(pull, review));
    await forge.git.commit({ branch: pull.headRef, files: { 'mended.txt': 'mended' } });
    pull.updatedAt = now();
    await forge.look();
    expect(await admitted(forge)).toHaveLength(1);
    expect(await forge.runs()).toBe(1);
  });

  test('I4: and its comments on the code are one piece of work', async () => {
    const forge = await hooked();
    const pull = await aPull(forge);
    await forge.look();
    await aReview(forge, pull, 31);
    forge.repository.reviewComments.push({
      ...{ id: 77, pull: 7, pull_request_review_id: 31, body: 'here', user: ADA },
      ...{ created_at: now(), updated_at: now() },
    });
    await forge.look();
    expect(await admitted(forge)).toHaveLength(1);
    expect(await forge.runs()).toBe(1);
  });

  test('I10: a list that cannot be read hides nothing and ends nothing: the next look finds what it held', async () => {
    const forge = await hooked();
    const pull = await aPull(forge);
    await forge.look();
    await aReview(forge, pull, 31);
    forge.github.failNext({ fault: { kind: 'bad-gateway', when: 'before' }, path: /reviews/, count: 9 });
    await forge.look();
    expect(await forge.runs()).toBe(0);
    forge.github.clearFaults();
    forge.repository.reviews.length = 0;
    const kept = await aReview(forge, pull, 32);
    await forge.look();
    expect(await admitted(forge)).toEqual([['42/pr/7/review/32', kept.commit_id]]);
    // Cold: the list is empty, and nothing is taken back for it.
    forge.repository.reviews.length = 0;
    pull.updatedAt = now();
    await forge.look();
    expect(await forge.world.rows("select 1 from headgate.run where status <> 'QUEUED'")).toEqual([]);
  });

  test('I10: a limit on the way is obeyed: nothing is asked before it ends', async () => {
    const forge = await hooked();
    const pull = await aPull(forge);
    await forge.look();
    await aReview(forge, pull, 31);
    const resetAt = new Date(Date.now() + 600_000);
    forge.github.failNext({ fault: { kind: 'used-up', resetAt }, path: /reviews/ });
    const reconciler = forge.world.reconciler();
    await forge.look(reconciler);
    expect((await forge.watermark()).nextInMs).toBeGreaterThan(500_000);
    const before = forge.github.log.entries.length;
    await forge.look(reconciler);
    expect(forge.github.log.entries.length).toBe(before);
  });
});

describe('a command on a pull request', () => {
  const say = (forge: Forge, id: number): void => {
    const [createdAt, updatedAt] = [now(), now()];
    forge.repository.comments.push({
      id,
      issueNumber: 7,
      body: '/agent fix',
      user: ADA,
      createdAt,
      updatedAt,
    });
  };
  const asWebhook = (id: number) => ({
    action: 'created',
    issue: { number: 7, title: 'A', body: null, pull_request: {} },
    comment: { id, body: '/agent fix', created_at: now(), updated_at: now() },
    sender: ADA,
  });

  test('I10: is found where the hook was silent, and its head is read; the hook that comes late brings nothing new', async () => {
    const forge = await hooked();
    const pull = await aPull(forge);
    await forge.look();
    say(forge, 9);
    await forge.look();
    await forge.world.reconciler().round('unresolved-heads');
    expect(await admitted(forge)).toEqual([['42/pr/7', await forge.git.head(pull.headRef)]]);
    expect(await forge.hook('issue_comment', asWebhook(9))).toMatchObject({ reasonCode: 'DUPLICATE_HOOK' });
    await forge.look();
    expect(await forge.runs()).toBe(1);
  });

  test('I10: that a hook brought is no news, even before its head was read', async () => {
    const forge = await hooked();
    await aPull(forge);
    await forge.look();
    say(forge, 9);
    await forge.hook('issue_comment', asWebhook(9));
    await forge.look();
    const codes = (await forge.receipts()).map(({ reasonCode }) => reasonCode);
    expect(codes.filter((code) => code !== 'NOTHING_FOUND')).toEqual(['HEAD_UNRESOLVED']);
  });
});
