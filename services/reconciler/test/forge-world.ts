/** A fake forge, a policy that asks it, and comments of people on it. */
import { randomUUID } from 'node:crypto';
import { Admission } from '@headgate/admission';
import { type SignalAnswer, systemIds } from '@headgate/domain';
import { readWebhook } from '@headgate/sources';
import {
  aPolicy,
  aRoute,
  aSource,
  atEnd,
  BareRepository,
  FakeGitHub,
  type ForkRecord,
  type PullRequestRecord,
} from '@headgate/testkit';
import { aWorld, type World } from './world.js';

const TOKEN_NAME = 'HEADGATE_TEST_FORGE_TOKEN';

export interface ForgeWorld {
  readonly world: World;
  readonly github: FakeGitHub;
  readonly git: BareRepository;
  /** The head of `topic`. */
  readonly sha: string;
  readonly pull: PullRequestRecord;
  comment(options: CommentOptions): Promise<SignalAnswer>;
  check(data: unknown): Promise<SignalAnswer>;
  receipts(): Promise<readonly ReceiptRow[]>;
}

export interface CommentOptions {
  readonly id: number;
  readonly body: string;
  readonly createdAt?: string;
  readonly number?: number;
}

export interface ReceiptRow {
  readonly id: string;
  readonly outcome: string;
  readonly reasonCode: string;
  readonly message: string;
  readonly parent: string | null;
  readonly inputVersion: string | null;
  readonly workKey: string | null;
}

const LONG_AGO = '2026-01-01T00:00:00Z';

export async function aForgeWorld(fork?: ForkRecord): Promise<ForgeWorld> {
  process.env[TOKEN_NAME] = 'ghp_test';
  const git = await BareRepository.create();
  const sha = await git.commit({ branch: 'topic', files: { 'a.txt': 'a' } });
  const github = await FakeGitHub.start();
  atEnd(() => github.stop());
  const repository = github.addRepository({ id: 42, fullName: 'acme/api', git });
  const pull: PullRequestRecord = {
    number: 7,
    headRef: 'topic',
    baseRef: 'main',
    title: 'A',
    body: null,
    state: 'open',
    isMerged: false,
    isDraft: false,
    createdAt: LONG_AGO,
    updatedAt: LONG_AGO,
    ...(fork === undefined ? {} : { fork }),
  };
  repository.pulls.push(pull);
  const policy = aPolicy({
    sources: [aSource({ token: `\${${TOKEN_NAME}}`, baseUrl: github.url })],
    routes: [
      aRoute({
        id: 'ask',
        on: [{ kind: 'event', type: 'github.issue_comment.created' }],
        when: { source: 'command.name == "fix"' },
      }),
      aRoute({ id: 'fix' }),
    ],
  });
  const world = await aWorld({ policy });
  const { context } = world;
  const admission = new Admission({
    pool: context.database.service,
    dimensions: context.dimensions,
    ids: systemIds,
    logger: context.logger,
    policy: () => context.policy.current(),
  });
  const deliver = (event: string, payload: unknown): Promise<SignalAnswer> => {
    const read = readWebhook({
      sourceId: 'acme',
      rawBody: Buffer.from(JSON.stringify(payload)),
      headers: {
        'content-type': 'application/json',
        'x-github-event': event,
        'x-github-delivery': randomUUID(),
        'x-github-hook-id': '1',
      },
      receivedAt: new Date(),
      traceparent: null,
    });
    if (read.kind !== 'signal') throw new Error(read.kind);
    return admission.submit({ signal: read.signal, tenant: 'default', payload: null });
  };
  const about = {
    repository: { id: 42, full_name: 'acme/api', default_branch: 'main' },
    sender: { id: 5, login: 'ada', type: 'User' },
  };
  return {
    world,
    github,
    git,
    sha,
    pull,
    comment: ({ id, body, createdAt = '2026-02-01T00:00:00Z', number = 7 }) =>
      deliver('issue_comment', {
        action: 'created',
        issue: { number, title: 'A', body: null, pull_request: {}, updated_at: createdAt },
        comment: { id, body, created_at: createdAt, updated_at: createdAt },
        ...about,
      }),
    check: (data) => deliver('check_run', { action: 'completed', check_run: data, ...about }),
    receipts: () =>
      world.rows<ReceiptRow>(
        `select id, outcome, reason_code as "reasonCode", message, parent_receipt_id as parent,
                input_version as "inputVersion", work_key as "workKey"
           from headgate.receipt where kind = 'decision' order by id`,
      ),
  };
}
