import { askedAt, causeOf, claimOf, identify, ownSign } from '@headgate/sources';
import { describe, expect, it } from 'vitest';
import { HEAD, signalOf } from './deliveries.js';

const repository = { id: 42, full_name: 'acme/api', default_branch: 'main' };
const ada = { id: 5, login: 'ada', type: 'User' };
const bot = { id: 6, login: 'headgate[bot]', type: 'Bot' };
const SELF = { appId: '7', logins: ['Headgate[bot]'] };

const checkRun = (action: string, appId: number, sender: object, more: object = {}) =>
  signalOf(
    {
      action,
      check_run: {
        name: 'unit',
        head_sha: HEAD,
        conclusion: 'failure',
        app: { id: appId },
        pull_requests: [],
        check_suite: { head_branch: 'topic' },
      },
      repository,
      sender,
      ...more,
    },
    { event: 'check_run' },
  );
const push = (sender: object, head_commit: object = { message: 'x' }) =>
  signalOf({ ref: 'refs/heads/topic', after: HEAD, head_commit, repository, sender }, { event: 'push' });
const comment = (body: string, sender: object, more: object = {}) =>
  signalOf(
    {
      action: 'created',
      issue: { number: 3, title: 't', body: 'b' },
      comment: { id: 11, body, ...more },
      repository,
      sender,
    },
    { event: 'issue_comment' },
  );

describe('what a signal is in a chain of causes', () => {
  it('a check is a finding whoever is named as its sender; a person’s button on it is a person’s request', () => {
    expect(causeOf(checkRun('completed', 1, ada))).toMatchObject({
      part: 'finding',
      isByPerson: false,
      version: HEAD,
      actor: null,
    });
    expect(causeOf(checkRun('rerequested', 7, ada))).toMatchObject({ part: 'person', isRequest: true });
    const button = checkRun('requested_action', 7, ada, { requested_action: { identifier: 'fix' } });
    expect(button.command).toEqual({ name: 'fix', argument: '' });
    expect(causeOf(button)).toMatchObject({ part: 'person', isRequest: true });
    expect(identify(button)).toMatchObject({
      work: { workKey: '42/branch/topic/check/unit', inputVersion: HEAD },
    });
  });

  it('a push is an echo, by a person or not; a bot’s comment is a machine’s', () => {
    expect(causeOf(push(ada))).toMatchObject({ part: 'echo', isByPerson: true, version: HEAD });
    expect(causeOf(push(bot))).toMatchObject({ part: 'echo', isByPerson: false });
    const { actor: _nobody, ...found } = push(ada);
    const byGit = { ...found, type: 'git.push', actor: null };
    expect(causeOf(byGit)).toMatchObject({ part: 'echo', isByPerson: false, version: HEAD });
    expect(causeOf(comment('hi', bot))).toMatchObject({ part: 'machine', isByPerson: false });
    expect(causeOf(comment('hi', ada))).toMatchObject({ part: 'person', isRequest: false, actor: 'user:5' });
    expect(causeOf(comment('/agent fix', ada))).toMatchObject({ isRequest: true });
  });

  it('a command and the label it causes ask for one version of one work; who asked and where is known', () => {
    const asked = comment('/agent fix', ada);
    const labelled = signalOf(
      { action: 'labeled', issue: { number: 3, title: 't', body: 'b' }, label: {}, repository, sender: bot },
      { event: 'issues' },
    );
    expect(identify(asked)).toEqual(identify(labelled));
    expect(askedAt(asked)).toEqual({ source: 'acme', repository: 'acme/api', number: '3', commentId: '11' });
    expect(askedAt(labelled)).toBeNull();
    expect(claimOf(asked)).toMatchObject({ asker: { kind: 'actor', login: 'ada' }, asked: askedAt(asked) });
    expect(claimOf(checkRun('completed', 1, bot))).toMatchObject({
      check: { name: 'unit', conclusion: 'failure' },
      asker: { kind: 'author' },
    });
  });

  it('what was closed leaves nothing to work on', () => {
    const closed = signalOf(
      { action: 'closed', issue: { number: 3, title: 't', body: 'b' }, repository, sender: ada },
      { event: 'issues' },
    );
    expect(identify(closed)).toMatchObject({ kind: 'unresolved', reasonCode: 'TARGET_CLOSED' });
  });
});

describe('our own doing', () => {
  const MARKER = `<!-- agent-run-id: run_${'0'.repeat(26)} -->`;
  const TRAILER = `Fix it\n\nAgent-Run-ID: run_${'0'.repeat(26)}`;

  it.each([
    ['our account', comment('hi', bot), 'loop-guard.identity'],
    [
      'our App, as somebody',
      comment('hi', ada, { performed_via_github_app: { id: 7 } }),
      'loop-guard.identity',
    ],
    ['our App’s check', checkRun('completed', 7, ada), 'loop-guard.identity'],
    ['our push', push(bot), 'loop-guard.identity'],
    ['a marker in a comment', comment(`done ${MARKER}`, ada), 'loop-guard.marker'],
    ['a trailer on a commit', push(ada, { message: TRAILER }), 'loop-guard.marker'],
  ])('is known by %s', (_by, signal, rule) => {
    expect(ownSign(signal, SELF)).toMatchObject({ rule });
  });

  it.each([
    ['a check of the CI that our push started', checkRun('completed', 1, bot)],
    ['a person’s button on our check', checkRun('rerequested', 7, ada)],
    ['a person’s comment', comment('please', ada)],
    [
      'a merge on the forge’s pages, which keeps our trailer',
      push(ada, { message: TRAILER, committer: { username: 'web-flow' } }),
    ],
  ])('is not %s', (_what, signal) => {
    expect(ownSign(signal, SELF)).toBeNull();
  });
});
