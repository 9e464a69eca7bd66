/** claude-code-action #611: our own status comment contains the trigger phrase, and is delivered N times. */
import { randomUUID } from 'node:crypto';
import { readWebhook } from '@headgate/sources';
import { describe, expect, it } from 'vitest';
import { policyFrom } from '../world/policy.js';
import { anAdmission, aWorld } from '../world/world.js';

const TIMES = 25;
const ROUTES = `
version: 1
sources:
  forge:
    kind: github
    webhookSecrets: [ "\${TEST_SECRET}" ]
    self: { appId: 7, logins: [ "headgate[bot]" ] }
    repositories: { acme/api: { url: /nowhere/api.git, defaultBranch: main } }
agents: { fixer: { runtime: command, command: [ node, fix.js ] } }
routes:
  ask:
    on: [ github.issue_comment.created ]
    when: command.name == "fix"
`;

interface CommentOptions {
  readonly id: number;
  readonly login: string;
  readonly type: 'User' | 'Bot';
  readonly body?: string;
}

const comment = (
  { id, login, type, body = 'Working on it.\n\n/agent fix' }: CommentOptions,
  guid: string,
) => {
  const read = readWebhook({
    sourceId: 'forge',
    rawBody: Buffer.from(
      JSON.stringify({
        action: 'created',
        issue: { number: 3, title: 'Broken', body: 'It is.', updated_at: '2026-01-01T00:00:00Z' },
        comment: { id, body, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' },
        repository: { id: 42, full_name: 'acme/api', default_branch: 'main' },
        sender: { id: 1, login, type },
      }),
    ),
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'issue_comment',
      'x-github-delivery': guid,
      'x-github-hook-id': '1',
    },
    receivedAt: new Date(),
    traceparent: null,
  });
  if (read.kind !== 'signal') throw new Error(read.kind);
  return { signal: read.signal, tenant: 'default', payload: null };
};

describe('replay: claude-code-action #611', () => {
  it('starts nothing: each delivery has a receipt that says it was our own doing', async () => {
    const world = await aWorld(await policyFrom(ROUTES));
    const { admission } = anAdmission(world);
    const ours = { id: 900, login: 'headgate[bot]', type: 'Bot' } as const;
    const answers = await Promise.all(
      Array.from({ length: TIMES }, () => admission.submit(comment(ours, randomUUID()))),
    );
    expect(answers.map((answer) => answer.reasonCode)).toEqual(Array(TIMES).fill('SELF_TRIGGERED'));
    expect(await world.sql('select 1 from headgate.run')).toEqual([]);
    const receipts = await world.sql<{ outcome: string; rule: string }>(
      'select distinct outcome, rule from headgate.receipt',
    );
    expect(receipts).toEqual([{ outcome: 'reject', rule: 'loop-guard.identity' }]);
    // Nobody is told about our own doing, or the answer would be the next comment.
    expect(await world.sql('select 1 from headgate.feedback')).toEqual([]);
  });

  it('knows it by its marker, too, when it comes from an account that nobody named', async () => {
    const world = await aWorld(await policyFrom(ROUTES));
    const { admission } = anAdmission(world);
    const body = `/agent fix\n<!-- agent-run-id: run_${'0'.repeat(26)} -->`;
    const answer = await admission.submit(
      comment({ id: 901, login: 'ci-bot', type: 'User', body }, randomUUID()),
    );
    expect(answer.reasonCode).toBe('SELF_TRIGGERED');
  });

  it('still hears the person who asks the same, once, however many hooks bring it', async () => {
    const world = await aWorld(await policyFrom(ROUTES));
    const { admission } = anAdmission(world);
    const theirs = { id: 902, login: 'ada', type: 'User' } as const;
    const first = await admission.submit(comment(theirs, randomUUID()));
    const second = await admission.submit(comment(theirs, randomUUID()));
    expect(first.reasonCode).toBe('ADMITTED');
    expect(second).toMatchObject({ reasonCode: 'DUPLICATE_HOOK', existing: true, runId: first.runId });
    expect(await world.sql('select 1 from headgate.run')).toHaveLength(1);
  });
});
