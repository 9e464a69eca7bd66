import { randomUUID } from 'node:crypto';
import { FakeGitHub } from '@headgate/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { post, signed } from '../../../test/world/deliveries.js';
import { policyFrom, TEST_SECRET } from '../../../test/world/policy.js';
import { aContext, served } from '../../../test/world/service.js';
import { aWorld } from '../../../test/world/world.js';
import { createIntake } from '../src/intake.js';

const policyOf = (url: string, authority = 'payload') => `
version: 1
sources:
  forge:
    kind: github
    webhookSecrets: [ "\${TEST_SECRET}" ]
    token: "\${TEST_SECRET}"
    baseUrl: ${url}
    authority: ${authority}
    scan: false
    redeliver: 0
    repositories: { acme/api: { url: /nowhere/api.git, defaultBranch: main } }
agents: { fixer: { runtime: command, command: [ node, fix.js ] } }
routes:
  ask: { on: [ github.issue_comment.created ], when: command.name == "fix" }
  pulls: { on: [ github.pull_request ], paths: [ "src/**" ] }
`;

it('I6: a GitHub that hangs holds no answer: what has to be read waits, and nobody is asked before the 202', async () => {
  const github = await FakeGitHub.start();
  onTestFinished(() => github.stop());
  github.failNext({ fault: { kind: 'hang', when: 'before' }, count: 1_000 });
  const world = await aWorld(await policyFrom(policyOf(github.url)));
  const context = await aContext(world);
  const { url } = await served(createIntake(context, { env: { TEST_SECRET } }));
  const send = (id: number) => {
    const body = Buffer.from(
      JSON.stringify({
        action: 'created',
        issue: { number: 7, title: 'A', body: null, pull_request: {} },
        comment: { id, body: '/agent fix', created_at: '2026-01-01T00:00:00Z' },
        repository: { id: 42, full_name: 'acme/api', default_branch: 'main' },
        sender: { id: 5, login: 'ada', type: 'User' },
      }),
    );
    const headers = signed(body, { 'x-github-event': 'issue_comment', 'x-github-delivery': randomUUID() });
    return post(`${url}/webhooks/forge`, headers, body);
  };
  const replies = await Promise.all([1, 2, 3, 4, 5].map(send));
  for (const reply of replies) {
    expect(reply.status).toBe(202);
    expect(reply.body).toMatchObject({ outcome: 'defer', reasonCode: 'HEAD_UNRESOLVED' });
  }
  expect(github.log.entries).toEqual([]);
  expect(await world.sql('select 1 from headgate.deferred_signal')).toHaveLength(5);
});

it.each(['payload', 'source'])(
  'I6: authority %s: what a pull request’s event needs to be read is read after the answer',
  async (authority) => {
    const github = await FakeGitHub.start();
    onTestFinished(() => github.stop());
    github.failNext({ fault: { kind: 'hang', when: 'before' }, count: 1_000 });
    const world = await aWorld(await policyFrom(policyOf(github.url, authority)));
    const context = await aContext(world);
    const { url } = await served(createIntake(context, { env: { TEST_SECRET } }));
    const body = Buffer.from(
      JSON.stringify({
        action: 'opened',
        pull_request: {
          number: 7,
          head: { sha: 'a'.repeat(40), ref: 'topic', repo: { id: 42 } },
          base: { ref: 'main', repo: { id: 42 } },
        },
        repository: { id: 42, full_name: 'acme/api', default_branch: 'main' },
      }),
    );
    const headers = signed(body, { 'x-github-event': 'pull_request', 'x-github-delivery': randomUUID() });
    const reply = await post(`${url}/webhooks/forge`, headers, body);
    expect(reply.body).toMatchObject({ outcome: 'defer', reasonCode: 'HEAD_UNRESOLVED', runId: null });
    expect(github.log.entries).toEqual([]);
  },
);
