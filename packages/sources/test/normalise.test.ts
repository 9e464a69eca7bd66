import { rewriteSample } from '@headgate/sources';
import { describe, expect, it } from 'vitest';
import { BASE, HEAD, payloadOf, SUBJECT, sampleNamed, signalOf } from './deliveries.js';

const OLD_HEAD = 'ec26c3e57ca3a959ca5aad62de7213c562f8c821';
const OLD_BASE = '6113728f27ae82c7b1a177c8d03f9e96e0adf246';
const HELLO = { externalId: '186853002', fullName: 'Codertocat/Hello-World', defaultBranch: 'master' };

describe('what an event says about the work', () => {
  it('I3: a failed check is about its pull request, at its head, ordered by its suite', () => {
    const signal = signalOf(payloadOf('check_run.completed#0'), { event: 'check_run' });
    expect(signal).toMatchObject({
      repository: HELLO,
      actor: { kind: 'user', id: '21031067', name: 'Codertocat' },
      subject: 'Codertocat/Hello-World#2',
      target: { kind: 'pull_request', id: '2', ref: 'changes', aspect: 'Octocoders-linter' },
      inputVersion: OLD_HEAD,
      parentVersions: [OLD_BASE],
      sourceAt: new Date('2019-05-15T15:20:31Z'),
      emittedAt: new Date('2019-05-15T15:21:12Z'),
      data: { check_run: { conclusion: 'failure' } },
    });
  });

  it('I4: re-running a check makes no newer version: the order stays that of the push', () => {
    const first = signalOf(payloadOf('check_run.completed#0'));
    const rerun = payloadOf('check_run.completed#0');
    Object.assign(rerun['check_run'] as object, {
      started_at: '2026-01-01T00:00:00Z',
      completed_at: '2026-01-01T00:01:00Z',
    });
    expect(signalOf(rerun)).toMatchObject({ sourceAt: first.sourceAt, inputVersion: first.inputVersion });
  });

  it('a check without pull request is about its branch, and so is one of several', () => {
    const target = { kind: 'branch', id: 'master', ref: 'master', aspect: 'randscape' };
    expect(signalOf(payloadOf('check_run.rerequested#0')).target).toEqual(target);
    const shared = payloadOf('check_run.completed#0');
    const run = shared['check_run'] as { pull_requests: { number: number }[] };
    run.pull_requests.push({ ...structuredClone(run.pull_requests[0]), number: 3 } as { number: number });
    expect(signalOf(shared).target).toMatchObject({ kind: 'branch', id: 'changes' });
  });

  it("a check on a fork's commit has no target: GitHub names neither branch nor pull request", () => {
    const fork = payloadOf('check_run.completed#0');
    const run = fork['check_run'] as { pull_requests: unknown[]; check_suite: { head_branch: null } };
    run.pull_requests = [];
    run.check_suite.head_branch = null;
    expect(signalOf(fork)).toMatchObject({ target: null, inputVersion: OLD_HEAD });
  });

  it("a pull request into another repository is none of this one's", () => {
    const signal = signalOf(payloadOf('workflow_run.completed#2'), { event: 'workflow_run' });
    expect(signal.target).toMatchObject({ kind: 'branch', id: 'master', aspect: '2823525' });
  });

  it("a workflow run on a fork's branch is not taken for the branch of the same name here", () => {
    const own = signalOf(payloadOf('workflow_run.completed#1'), { event: 'workflow_run' });
    expect(own.target).toMatchObject({ kind: 'branch', id: 'master' });
    const fork = payloadOf('workflow_run.completed#1');
    (fork['workflow_run'] as { head_repository: { id: number } }).head_repository.id = 1;
    expect(signalOf(fork, { event: 'workflow_run' }).target).toBeNull();
  });

  it('a workflow run for pull_request_target has no version: its SHA is the base', () => {
    const payload = payloadOf('workflow_run.completed#1');
    Object.assign(payload['workflow_run'] as object, { event: 'pull_request_target' });
    expect(signalOf(payload, { event: 'workflow_run' })).toMatchObject({
      inputVersion: null,
      sourceAt: null,
    });
  });

  it('I4: a push is a version of its branch that follows the one before', () => {
    const payload = { ...payloadOf('push#4'), before: BASE, after: HEAD };
    expect(signalOf(payload, { event: 'push' })).toMatchObject({
      target: { kind: 'branch', id: 'master', ref: 'master', aspect: null },
      inputVersion: HEAD,
      parentVersions: [BASE],
      sourceAt: new Date('2019-05-15T15:20:57Z'),
    });
    expect(signalOf(payloadOf('push#4'), { event: 'push' }).parentVersions).toEqual([]);
  });

  it('a deleted branch has no version', () => {
    const payload = { ...payloadOf('push#4'), after: '0'.repeat(40), deleted: true };
    expect(signalOf(payload, { event: 'push' })).toMatchObject({
      target: { id: 'master' },
      inputVersion: null,
    });
  });

  it("a tag's commit is not compared with a branch's head", () => {
    const signal = signalOf(payloadOf('push#0'), { event: 'push' });
    expect(signal.target).toMatchObject({ kind: 'repository', aspect: 'simple-tag' });
    expect(signal.inputVersion).toBe(`tag:${OLD_BASE}`);
  });

  it('I4: only what moves the head orders a pull request: labels leave the order unknown', () => {
    const read = (name: string) => signalOf(payloadOf(name), { event: 'pull_request' });
    expect(read('pull_request.opened#0').sourceAt).toEqual(new Date('2019-05-15T15:20:33Z'));
    const moved = read('pull_request.synchronize#0');
    expect(moved.parentVersions).toEqual([payloadOf('pull_request.synchronize#0')['before']]);
    expect(moved.sourceAt).not.toBeNull();
    expect(read('pull_request.labeled#0')).toMatchObject({ sourceAt: null, inputVersion: OLD_HEAD });
  });

  it("a fork's branch is not a branch of this repository", () => {
    const payload = payloadOf('pull_request.opened#0');
    (payload['pull_request'] as { head: { repo: { id: number } } }).head.repo.id = 1;
    const fork = signalOf(payload, { event: 'pull_request' });
    expect(fork.target).toMatchObject({ kind: 'pull_request', id: '2', ref: null });
    (payload['pull_request'] as { head: { repo: null } }).head.repo = null;
    expect(signalOf(payload, { event: 'pull_request' }).target).toMatchObject({ ref: null });
  });

  it('all events of one review are about the same thing', () => {
    const review = signalOf(payloadOf('pull_request_review.submitted#0'), { event: 'pull_request_review' });
    expect(review.target).toMatchObject({
      kind: 'pull_request',
      id: '2',
      ref: 'changes',
      aspect: '237895671',
    });
    const comment = signalOf(payloadOf('pull_request_review_comment.created#0'), {
      event: 'pull_request_review_comment',
    });
    expect(comment.target).toEqual(review.target);
  });

  it("an issue's version is its text: labelling it makes no new one, editing it does", () => {
    const read = (payload: unknown) => signalOf(payload, { event: 'issues' });
    const issue = payloadOf('issues.opened#0');
    const labelled: Record<string, unknown> = { ...payloadOf('issues.opened#0'), action: 'labeled' };
    Object.assign(labelled['issue'] as object, {
      labels: [{ name: 'bug' }],
      updated_at: '2026-01-01T00:00:00Z',
    });
    const edited = payloadOf('issues.opened#0');
    Object.assign(edited['issue'] as object, { body: 'ünï 🌊' });
    expect(read(issue)).toMatchObject({
      target: { kind: 'issue' },
      inputVersion: expect.stringMatching(/^content:/),
    });
    expect(read(labelled).inputVersion).toBe(read(issue).inputVersion);
    expect(read(edited).inputVersion).not.toBe(read(issue).inputVersion);
  });

  it('a comment on a pull request names it, and leaves its head to be read', () => {
    const payload = payloadOf('issue_comment.created#0');
    expect(signalOf(payload, { event: 'issue_comment' }).target).toMatchObject({ kind: 'issue' });
    Object.assign(payload['issue'] as object, { pull_request: { url: 'x' } });
    expect(signalOf(payload, { event: 'issue_comment' })).toMatchObject({
      target: { kind: 'pull_request', ref: null, aspect: '492700400' },
      inputVersion: null,
    });
  });

  it('bots are known as bots, and what GitHub does by itself as the system', () => {
    expect(signalOf(payloadOf('check_suite.rerequested#0'), { event: 'check_suite' }).actor?.kind).toBe(
      'bot',
    );
    expect(signalOf(payloadOf('dependabot_alert.created#0'), { event: 'dependabot_alert' }).actor?.kind).toBe(
      'system',
    );
  });

  it('an event without a branch is about its subject, once per event whichever hook brought it', () => {
    const read = (hookId: string) =>
      signalOf(payloadOf('release.published#0'), { event: 'release', hookId, guid: 'g' });
    expect(read('1')).toMatchObject({
      target: { kind: 'repository', aspect: '17372790' },
      inputVersion: 'delivery:g',
    });
    expect(read('2').inputVersion).toBe(read('1').inputVersion);
  });

  it('every rewritten example that names a commit of a branch names the given one', () => {
    for (const name of [
      'check_run.completed#0',
      'check_suite.completed#0',
      'workflow_run.completed#0',
      'push#4',
      'pull_request.synchronize#0',
      'status#0',
    ]) {
      const sample = sampleNamed(name);
      const signal = signalOf(rewriteSample(sample, SUBJECT), { event: sample.event });
      expect(signal.inputVersion, name).toBe(HEAD);
      expect(signal.target?.ref, name).toBe('feature/x');
      expect(signal.repository, name).toEqual({
        externalId: '42',
        fullName: 'acme/api',
        defaultBranch: 'trunk',
      });
    }
  });
});
