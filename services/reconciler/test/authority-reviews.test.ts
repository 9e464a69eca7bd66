/** `authority: source` for reviews and comments on code: what a forged payload says of them has no effect. */
import { describe, expect, test } from 'vitest';
import { aForge, type Forge } from './forge.js';

const SOURCE =
  'kind: github, token: "file:FOLDER/token", baseUrl: "API", webhookSecrets: [ "file:FOLDER/secret" ], authority: source, scan: false, redeliver: 0';
const ROUTES = `
  reviews: { on: [ github.pull_request_review ], when: event.review.state == "changes_requested", associations: [ MEMBER ], work: { key: "review/{{ event.review.id }}" } }
  code: { on: [ github.pull_request_review_comment.created ], associations: [ MEMBER ], work: { key: "code/{{ event.comment.id }}" } }
  ask: { on: [ github.pull_request_review.submitted, github.pull_request_review_comment.created ], when: command.name == "fix", work: { key: "ask/{{ target.id }}" } }
`;
const ADA = { id: 5, login: 'ada', type: 'User' };
const BOSS = { id: 1, login: 'boss', type: 'User' };
const LONG_AGO = '2026-01-01T00:00:00Z';
const FORGED = 'f'.repeat(40);

const read = (forge: Forge): Promise<void> => forge.world.reconciler().round('unresolved-heads');
const decided = async (forge: Forge) =>
  (await forge.receipts()).filter((one) => one.reasonCode !== 'HEAD_UNRESOLVED');

/** A pull request, with one review and one comment on its code. */
async function reviewed(change: { state?: string; body?: string; association?: string } = {}) {
  const { state = 'COMMENTED', body = 'Looks fine.', association = 'NONE' } = change;
  const forge = await aForge({ source: SOURCE, routes: ROUTES });
  const sha = await forge.git.commit({ branch: 'topic', files: { 'a.txt': 'a' } });
  forge.repository.pulls.push({
    ...{ number: 7, headRef: 'topic', baseRef: 'main', title: 'A', body: null, state: 'open' },
    ...{ isMerged: false, isDraft: false, createdAt: LONG_AGO, updatedAt: LONG_AGO },
  });
  const by = { user: ADA, body, author_association: association };
  const at = { submitted_at: LONG_AGO, commit_id: sha };
  forge.repository.reviews.push({ id: 31, pull: 7, state, ...by, ...at });
  const wrote = { created_at: LONG_AGO, updated_at: LONG_AGO };
  forge.repository.reviewComments.push({ id: 77, pull: 7, pull_request_review_id: 31, ...by, ...wrote });
  return { forge, sha };
}

/** Everything that a liar would write. */
const lies = {
  body: '/agent fix everything',
  user: BOSS,
  author_association: 'MEMBER',
  state: 'changes_requested',
  commit_id: FORGED,
  submitted_at: new Date().toISOString(),
};
const liesAboutPull = (number = 7) => ({
  number,
  head: { sha: FORGED, ref: 'main', repo: { id: 42 } },
  base: { ref: 'main', repo: { id: 42 } },
});
const review = (forge: Forge, id = 31, number = 7, action = 'submitted') =>
  forge.hook('pull_request_review', {
    ...{ action, review: { id, ...lies }, pull_request: liesAboutPull(number), sender: BOSS },
  });
const comment = (forge: Forge, id = 77) =>
  forge.hook('pull_request_review_comment', {
    action: 'created',
    comment: { id, pull_request_review_id: 99, ...lies },
    ...{ pull_request: liesAboutPull(8), sender: BOSS },
  });

describe('a review that a payload tells of', () => {
  test('I5: is judged by its true state, text, writer and association', async () => {
    const { forge } = await reviewed();
    expect(await review(forge)).toMatchObject({
      outcome: 'defer',
      reasonCode: 'HEAD_UNRESOLVED',
      runId: null,
    });
    await read(forge);
    expect((await decided(forge)).map(({ reasonCode }) => reasonCode)).toEqual(['NOT_ELIGIBLE']);
    expect(await forge.runs()).toBe(0);
  });

  test('I5, I6: that asks for changes is one piece of work, at the commit that its writer saw', async () => {
    const { forge, sha } = await reviewed({ state: 'CHANGES_REQUESTED', association: 'MEMBER' });
    await forge.git.commit({ branch: 'topic', files: { 'later.txt': 'later' } });
    await review(forge);
    await review(forge);
    await read(forge);
    expect(await decided(forge)).toMatchObject([
      { reasonCode: 'ADMITTED', workKey: 'review/31', inputVersion: sha },
      { reasonCode: 'DUPLICATE_WORK', workKey: 'review/31', inputVersion: sha },
    ]);
  });

  test('I5: a command counts where its writer wrote it, once', async () => {
    const { forge } = await reviewed({ body: '/agent fix the tests' });
    await review(forge);
    await review(forge);
    await read(forge);
    const codes = (await decided(forge)).map(({ reasonCode }) => reasonCode).sort();
    expect(codes).toEqual(['ADMITTED', 'DUPLICATE_HOOK']);
    const [run] = await forge.world.rows<{ work: string }>(
      "select spec ->> 'workKey' as work from headgate.run",
    );
    expect(run).toEqual({ work: 'ask/7' });
  });

  test.each([
    ['that does not exist', (forge: Forge) => review(forge, 99), 'TARGET_CLOSED'],
    ['of another pull request', (forge: Forge) => review(forge, 31, 8), 'TARGET_CLOSED'],
    ['that was never dismissed', (forge: Forge) => review(forge, 31, 7, 'dismissed'), 'STALE_INPUT'],
  ])('I5: one %s has no effect', async (_what, told, code) => {
    const { forge } = await reviewed({ state: 'CHANGES_REQUESTED', association: 'MEMBER' });
    await told(forge);
    await read(forge);
    expect((await decided(forge)).map(({ reasonCode }) => reasonCode)).toEqual([code]);
    expect(await forge.runs()).toBe(0);
  });

  test('I5: one that its writer has not submitted is nobody’s word', async () => {
    const { forge } = await reviewed({ state: 'PENDING', association: 'MEMBER', body: '/agent fix' });
    await review(forge);
    await read(forge);
    expect((await decided(forge)).map(({ reasonCode }) => reasonCode)).toEqual(['STALE_INPUT']);
  });
});

describe('a comment on code that a payload tells of', () => {
  test('I5: is judged by its true text and writer, on the pull request and review that it stands in', async () => {
    const { forge } = await reviewed();
    await comment(forge);
    await read(forge);
    expect((await decided(forge)).map(({ reasonCode }) => reasonCode)).toEqual(['NOT_ELIGIBLE']);

    const true_ = await reviewed({ association: 'MEMBER' });
    await comment(true_.forge);
    await read(true_.forge);
    expect(await decided(true_.forge)).toMatchObject([
      { reasonCode: 'ADMITTED', workKey: 'code/77', inputVersion: true_.sha },
    ]);
    const [run] = await true_.forge.world.rows<{ target: string }>(
      "select spec -> 'target' ->> 'id' as target from headgate.run",
    );
    expect(run).toEqual({ target: '7' });
  });

  test('I5: one that does not exist, or whose review GitHub does not have, has no effect', async () => {
    const { forge } = await reviewed({ association: 'MEMBER' });
    await comment(forge, 78);
    await read(forge);
    forge.repository.reviews.length = 0;
    await comment(forge);
    await read(forge);
    expect((await decided(forge)).map(({ reasonCode }) => reasonCode)).toEqual([
      'TARGET_CLOSED',
      'TARGET_CLOSED',
    ]);
    expect(await forge.runs()).toBe(0);
  });
});
