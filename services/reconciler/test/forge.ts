/** A fake GitHub with one repository, a policy that polls or scans it, and the hook that could have told. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Admission } from '@headgate/admission';
import { loadConfig } from '@headgate/config';
import type { Policy, SignalAnswer } from '@headgate/domain';
import { moduleOf } from '@headgate/sources';
import { atEnd, temporaryDataFolder } from '@headgate/testkit';
import {
  type BareRepository,
  bareRepository,
  FakeGitHub,
  type ForgeRepository,
} from '@headgate/testkit/github';
import type { Ticker } from './ticker.js';
import { aWorld, type World } from './world.js';

export interface Forge {
  readonly world: World;
  readonly github: FakeGitHub;
  readonly git: BareRepository;
  readonly repository: ForgeRepository;
  readonly policy: Policy;
  /** One look, now, by this reconciler or a new one. */
  look(by?: Ticker): Promise<void>;
  /** The same event as its webhook. */
  hook(event: string, payload: object): Promise<SignalAnswer>;
  /** A check that has ended on a commit, `agoMs` before now. */
  check(sha: string, conclusion: string, agoMs?: number): Record<string, unknown>;
  receipts(): Promise<readonly Receipt[]>;
  runs(): Promise<number>;
  watermark(): Promise<Watermark>;
}

export interface Receipt {
  readonly reasonCode: string;
  readonly via: string;
  readonly type: string;
  readonly workKey: string | null;
  readonly inputVersion: string | null;
  readonly watermark: string | null;
  readonly message: string;
}

export interface Watermark {
  readonly version: number;
  readonly outcome: string;
  readonly detail: string | null;
  readonly lookedAt: Date | null;
  readonly silentCount: number;
  readonly silentSince: Date | null;
  readonly nextInMs: number;
  readonly validators: Record<string, unknown>;
}

export const ROUTES = `
  fix: { on: [ github.check_run.completed ], when: event.check_run.conclusion == "failure" }
  pulls: { on: [ github.pull_request, github.issues.labeled, github.issue_comment.created, github.workflow_run.completed ] }
  pushes: { on: [ github.push ] }
`;

export async function aForge(
  options: { source?: string; routes?: string; commits?: number } = {},
): Promise<Forge> {
  const folder = temporaryDataFolder();
  const { commits } = options;
  const path = join(folder, 'api.git');
  const git = await bareRepository({ path, ...(commits === undefined ? {} : { commits }) });
  const github = await FakeGitHub.start();
  atEnd(() => github.stop());
  const repository = github.addRepository({ id: 42, fullName: 'acme/api', git });
  writeFileSync(join(folder, 'token'), 'ghp_token');
  writeFileSync(join(folder, 'secret'), 'hook secret');
  const source =
    options.source ?? `kind: github, token: "file:${folder}/token", baseUrl: "${github.url}", poll: true`;
  const loaded = await loadConfig({
    text: `
version: 1
sources: { acme: { ${source.replaceAll('FOLDER', folder).replaceAll('API', github.url)}, repositories: { acme/api: { url: "${git.path}", defaultBranch: main } } } }
agents: { fixer: { runtime: command, command: [ node, fix.js ] } }
routes:${options.routes ?? ROUTES}
`,
    baseDir: folder,
    env: {},
    dataDir: folder,
    realForge: false,
  });
  if (!loaded.ok) throw new Error(loaded.problems.map((one) => `${one.path}: ${one.message}`).join('\n'));
  const { policy } = loaded;
  const world = await aWorld({ policy });
  const { database, dimensions, ids, logger } = world.context;
  const admission = new Admission({
    pool: database.service,
    dimensions,
    ids,
    logger,
    policy: () => world.context.policy.current(),
  });
  const [configured] = policy.sources;
  if (configured === undefined) throw new Error('no source');
  let hooks = 0;
  return {
    world,
    github,
    git,
    repository,
    policy,
    look: async (by) => {
      await world.rows('update headgate.watermark set next_at = clock_timestamp()');
      await (by ?? world.reconciler()).round('source-scan');
    },
    hook: async (event, payload) => {
      hooks += 1;
      const reading = moduleOf(configured).hook?.read({
        source: configured,
        rawBody: Buffer.from(JSON.stringify({ repository: await repositoryJson(github), ...payload })),
        headers: {
          'content-type': 'application/json',
          'x-github-event': event,
          'x-github-delivery': `guid-${hooks}`,
          'x-github-hook-id': '1',
        },
        receivedAt: new Date(),
        traceparent: null,
      });
      if (reading?.kind !== 'signal') throw new Error('no signal');
      return admission.submit({ signal: reading.signal, tenant: 'default', payload: null });
    },
    check: (sha, conclusion, agoMs = 1_000) => {
      const at = new Date(Date.now() - agoMs).toISOString();
      const suite = {
        id: github.state.nextId(),
        head_branch: 'main',
        head_sha: sha,
        before: null,
        after: sha,
        created_at: at,
      };
      repository.checkSuites.push(suite);
      const id = github.state.nextId();
      const fields = {
        name: 'unit',
        status: 'completed',
        conclusion,
        started_at: at,
        completed_at: at,
        app: { id: 9 },
        pull_requests: [],
        check_suite: { id: suite.id },
      };
      repository.checkRuns.push({ id, headSha: sha, fields });
      return { ...fields, id, head_sha: sha, check_suite: suite };
    },
    receipts: () =>
      world.rows<Receipt>(
        `select reason_code as "reasonCode", via, type, work_key as "workKey", input_version as "inputVersion",
                watermark, message
           from headgate.receipt where kind = 'decision' order by id`,
      ),
    runs: async () => (await world.rows('select 1 from headgate.run')).length,
    watermark: async () => {
      const [row] = await world.rows<Watermark>(
        `select version::int as version, outcome, detail, looked_at as "lookedAt", silent_count as "silentCount",
                silent_since as "silentSince", validators,
                (extract(epoch from next_at - clock_timestamp()) * 1000)::float8 as "nextInMs"
           from headgate.watermark`,
      );
      if (row === undefined) throw new Error('no watermark');
      return row;
    },
  };
}

/** As the fake itself shows it. */
async function repositoryJson(github: FakeGitHub): Promise<unknown> {
  return (await fetch(`${github.url}/repos/acme/api`)).json();
}
