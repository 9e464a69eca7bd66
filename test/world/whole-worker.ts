/** Intake, scheduler and worker over one database, a fake GitHub with real git behind it, and its signed webhooks. */
import { randomUUID } from 'node:crypto';
import { loadConfig, readSettings } from '@headgate/config';
import type { RunStatus } from '@headgate/domain';
import { createIntake } from '@headgate/intake';
import { createScheduler } from '@headgate/scheduler';
import { createContext } from '@headgate/service';
import {
  atEnd,
  BareRepository,
  eventually,
  FakeGitHub,
  type ForgeRepository,
  type PullRequestRecord,
  removeDataFolder,
  temporaryDataFolder,
} from '@headgate/testkit';
import { createWorker } from '@headgate/worker';
import { post, signed } from './deliveries.js';
import { TEST_SECRET } from './policy.js';
import { served } from './service.js';
import { aWorld, silent } from './world.js';

const TOKEN_NAME = 'HEADGATE_TEST_WHOLE_WORKER_TOKEN';
const DEFECT = {
  'src/sum.js': 'export function sum(a, b) {\n  // FIXME: `a - b` should be `a + b`\n  return a - b;\n}\n',
};
const LONG_AGO = '2026-01-01T00:00:00Z';

export interface RunRow {
  readonly workKey: string;
  readonly status: RunStatus;
  readonly reasonCode: string | null;
  readonly attempts: number;
}

export interface WholeWorker {
  readonly github: FakeGitHub;
  readonly repository: ForgeRepository;
  readonly git: BareRepository;
  aPull(
    number: number,
    change?: Partial<PullRequestRecord>,
  ): Promise<{ sha: string; pull: PullRequestRecord }>;
  /** A check of this pull request has failed: its webhook's answer. */
  failedCheck(number: number, sha: string): Promise<{ outcome: string; reasonCode: string }>;
  hook(event: string, payload: object): Promise<{ outcome: string; reasonCode: string }>;
  run(number: number): Promise<RunRow | undefined>;
  /** The run of this pull request's check, once it is there. */
  reaches(number: number, status: RunStatus): Promise<RunRow>;
}

export async function aWholeWorker(route = ''): Promise<WholeWorker> {
  process.env[TOKEN_NAME] = 'ghp_test';
  const git = await BareRepository.create();
  atEnd(() => git.remove());
  await git.commit({ files: DEFECT });
  const github = await FakeGitHub.start();
  atEnd(() => github.stop());
  const repository = github.addRepository({ id: 42, fullName: 'acme/api', git });
  const dataDir = temporaryDataFolder();
  atEnd(() => removeDataFolder(dataDir));
  const loaded = await loadConfig({
    text: `
version: 1
sources:
  forge:
    kind: github
    webhookSecrets: [ "\${TEST_SECRET}" ]
    token: "\${${TOKEN_NAME}}"
    baseUrl: "${github.url}"
    scan: false
    redeliver: 0
    repositories: { acme/api: { url: "${git.path}", defaultBranch: main } }
agents: { fixer: { runtime: command, command: [ headgate-example-agent ] } }
routes:
  fix: { on: [ github.check_run.completed ], when: event.check_run.conclusion == "failure"${route} }
`,
    ...{ baseDir: dataDir, env: { TEST_SECRET }, dataDir, realForge: false },
  });
  if (!loaded.ok) throw new Error(loaded.problems.map((one) => `${one.path}: ${one.message}`).join('\n'));
  const world = await aWorld(loaded.policy);
  const settings = readSettings({ HEADGATE_DATA_DIR: dataDir });
  if (!settings.ok) throw new Error('the settings are not readable');
  const context = createContext({
    ...{ settings: settings.settings, name: 'test', serviceUrl: world.urls.serviceUrl },
    ...{ apiUrl: null, redisUrl: null, logger: silent },
  });
  atEnd(() => context.close());
  await context.policy.refresh();
  const { url } = await served(createIntake(context, { env: { TEST_SECRET } }));
  for (const service of [createScheduler(context), await createWorker(context)]) {
    await service.start();
    atEnd(() => service.stop());
    await service.ready();
  }

  const hook: WholeWorker['hook'] = async (event, payload) => {
    const body = Buffer.from(
      JSON.stringify({
        repository: { id: 42, full_name: 'acme/api', default_branch: 'main' },
        sender: { id: 5, login: 'ada', type: 'User' },
        ...payload,
      }),
    );
    const headers = signed(body, { 'x-github-event': event, 'x-github-delivery': randomUUID() });
    return (await post(`${url}/webhooks/forge`, headers, body)).body as never;
  };
  const run: WholeWorker['run'] = async (number) =>
    (
      await world.sql<RunRow>(
        `select t.work_key as "workKey", r.status, r.reason_code as "reasonCode", r.attempt_no as attempts
           from headgate.run r join headgate.task t on t.id = r.task_id
          where t.work_key = '42/pr/${number}/check/unit'`,
      )
    )[0];
  return {
    ...{ github, repository, git, hook, run },
    aPull: async (number, change = {}) => {
      const headRef = `topic-${number}`;
      const sha = await git.commit({ branch: headRef, files: { 'a.txt': `${number}` } });
      const pull: PullRequestRecord = {
        ...{ number, headRef, baseRef: 'main', title: 'A', body: null, state: 'open' },
        ...{ isMerged: false, isDraft: false, createdAt: LONG_AGO, updatedAt: LONG_AGO },
        ...change,
      };
      repository.pulls.push(pull);
      const fields = { name: 'unit', status: 'completed', conclusion: 'failure' };
      repository.checkRuns.push({ id: github.state.nextId(), headSha: sha, fields });
      return { sha, pull };
    },
    failedCheck: (number, sha) => {
      const side = (ref: string) => ({ ref, sha, repo: { id: 42 } });
      return hook('check_run', {
        action: 'completed',
        check_run: {
          ...{ id: number, name: 'unit', status: 'completed', conclusion: 'failure', head_sha: sha },
          pull_requests: [{ number, head: side(`topic-${number}`), base: side('main') }],
          check_suite: { head_branch: `topic-${number}`, created_at: LONG_AGO },
        },
      });
    },
    reaches: (number, status) =>
      eventually(
        async () => {
          const found = await run(number);
          return found?.status === status ? found : null;
        },
        { what: `the run of pull request ${number} is ${status}`, deadlineMs: 60_000 },
      ),
  };
}
