import type { Signal } from '@headgate/domain';
import { allSamples, eventFactsOf, publicationNewsOf, readWebhook } from '@headgate/sources';
import { describe, expect, it } from 'vitest';

function signalOf(event: string, payload: unknown): Signal {
  const reading = readWebhook({
    sourceId: 'acme',
    rawBody: Buffer.from(JSON.stringify(payload)),
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': '00000000-0000-4000-8000-000000000000',
    },
    receivedAt: new Date(0),
    traceparent: null,
  });
  if (reading.kind !== 'signal') throw new Error('unreadable');
  return reading.signal;
}

const REPOSITORY = { id: 42, full_name: 'acme/api', topics: ['node'], custom_properties: { tier: 'gold' } };
const pull = (more: object = {}) => ({
  number: 7,
  draft: false,
  user: { login: 'ada', type: 'User' },
  author_association: 'MEMBER',
  labels: [{ name: 'agent' }],
  base: { ref: 'main', repo: { id: 42 } },
  head: { ref: 'topic', repo: { id: 42 } },
  ...more,
});

describe('what a payload tells', () => {
  it('I7: of a pull request: branch, labels, author, association, fork, draft, and the repository’s topics', () => {
    const facts = eventFactsOf(
      signalOf('pull_request', {
        action: 'opened',
        repository: REPOSITORY,
        pull_request: pull(),
        sender: { login: 'eve' },
      }),
    );
    expect(facts).toEqual({
      topics: ['node'],
      properties: { tier: 'gold' },
      branch: 'main',
      labels: ['agent'],
      author: { login: 'ada', isBot: false },
      association: 'MEMBER',
      isFork: false,
      isDraft: false,
      paths: null,
    });
  });

  it('I7: a head in another repository, or in none any more, is a fork', () => {
    for (const repo of [{ id: 7 }, null]) {
      const payload = {
        action: 'opened',
        repository: REPOSITORY,
        pull_request: pull({ head: { ref: 'x', repo } }),
      };
      expect(eventFactsOf(signalOf('pull_request', payload)).isFork).toBe(true);
    }
  });

  it('I7: a comment is its writer’s; a check says nothing of an author, as its sender is the app that ran it', () => {
    const comment = {
      action: 'created',
      repository: REPOSITORY,
      issue: { number: 3, user: { login: 'ada' }, labels: [] },
      comment: { user: { login: 'helper[bot]', type: 'Bot' }, author_association: 'NONE' },
    };
    expect(eventFactsOf(signalOf('issue_comment', comment))).toMatchObject({
      author: { login: 'helper[bot]', isBot: true },
      association: 'NONE',
    });
    const check = {
      action: 'completed',
      repository: REPOSITORY,
      sender: { login: 'ci[bot]', type: 'Bot' },
      check_run: {},
    };
    expect(eventFactsOf(signalOf('check_run', check)).author).toBeNull();
  });

  it('I7: a push tells its files, unless the list may be cut', () => {
    const push = (commits: readonly object[]) => ({
      ref: 'refs/heads/main',
      repository: REPOSITORY,
      commits,
    });
    const facts = eventFactsOf(
      signalOf(
        'push',
        push([
          { added: ['a'], modified: ['b'], removed: [] },
          { added: [], modified: ['b'], removed: ['c'] },
        ]),
      ),
    );
    expect(facts).toMatchObject({ branch: 'main', paths: ['a', 'b', 'c'] });
    expect(eventFactsOf(signalOf('push', push([]))).paths).toBeNull();
    const long = Array.from({ length: 2_048 }, () => ({ added: ['a'], modified: [], removed: [] }));
    expect(eventFactsOf(signalOf('push', push(long))).paths).toBeNull();
  });

  it('I7: an event of any other kind tells the branch that it is about, so that a route’s branches can take it', () => {
    const told = (type: string, target: Signal['target']) =>
      eventFactsOf({ ...signalOf('push', {}), type, target }).branch;
    const branch = { kind: 'branch', id: 'feature/x', ref: 'feature/x', aspect: null } as const;
    for (const type of ['git.push', 'cloudevents.com.example.build.failed', 'webhook.deploy.failed']) {
      expect(told(type, branch)).toBe('feature/x');
      expect(told(type, { kind: 'pull_request', id: '7', ref: 'feature/x', aspect: null })).toBeNull();
      expect(told(type, null)).toBeNull();
    }
  });

  it('I20: is read from every sample of GitHub without a fault', () => {
    const facts = allSamples().map(({ event, payload }) => eventFactsOf(signalOf(event, payload)));
    expect(facts.filter(({ author }) => author !== null).length).toBeGreaterThan(50);
    expect(facts.filter(({ branch }) => branch !== null).length).toBeGreaterThan(20);
  });
});

describe('news of a branch of ours', () => {
  const OURS = 'agent/task_01k3v0m4k8e7zv6n4x5q2w1r0t/run_01k3v0m4k8e7zv6n4x5q2w1r0t';
  const closed = (head: object) =>
    publicationNewsOf(
      signalOf('pull_request', { action: 'closed', repository: REPOSITORY, pull_request: pull({ head }) }),
    );

  it('Q23: is told by a closed or reopened pull request and a deleted branch, and never by a fork', () => {
    expect(closed({ ref: OURS, repo: { id: 42 } })).toMatchObject({ kind: 'ended' });
    expect(closed({ ref: OURS, repo: { id: 7 } })).toBeNull();
    expect(closed({ ref: 'agent/mine/x', repo: { id: 42 } })).toBeNull();
    const gone = { ref: OURS, ref_type: 'branch', repository: REPOSITORY };
    expect(publicationNewsOf(signalOf('delete', gone))).toMatchObject({ kind: 'ended' });
  });
});
