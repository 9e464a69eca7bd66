/** A fake GitHub and a bare repository with a week behind them, and configurations that listen to them. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { atEnd } from '@headgate/testkit';
import {
  type BareRepository,
  bareRepository,
  FakeGitHub,
  type ForgeRepository,
} from '@headgate/testkit/github';
import { temporaryFolder } from './command-line.js';

export interface ForgeToLookAt {
  readonly dataDir: string;
  readonly github: FakeGitHub;
  readonly git: BareRepository;
  readonly repository: ForgeRepository;
  /** So many days before now. */
  readonly daysAgo: (days: number) => Date;
  /** A check that has ended on a commit of main. */
  readonly check: (sha: string, conclusion: string, at: Date) => void;
  /** Writes a configuration into the folder; `routes` as lines of YAML. */
  readonly configure: (name: string, routes: string) => Promise<string>;
}

const DAY_MS = 86_400_000;

export async function aForgeToLookAt(now: Date): Promise<ForgeToLookAt> {
  const dataDir = await temporaryFolder();
  const daysAgo = (days: number): Date => new Date(now.getTime() - days * DAY_MS);
  const git = await bareRepository({ path: join(dataDir, 'api.git'), commits: 0 });
  await git.commit({ files: { 'README.md': 'A' }, at: daysAgo(30) });
  const github = await FakeGitHub.start();
  atEnd(() => github.stop());
  const repository = github.addRepository({ id: 42, fullName: 'acme/api', git });
  await writeFile(join(dataDir, 'token'), 'ghp_token');
  const configure = async (name: string, routes: string): Promise<string> => {
    const text = `version: 1
sources:
  acme:
    kind: github
    token: "file:token"
    baseUrl: "${github.url}"
    repositories: { acme/api: { url: "${git.path}", defaultBranch: main } }
  mirror:
    kind: git
    repositories: { acme/api: { url: "${git.path}", defaultBranch: main } }
agents: { tool: { runtime: command, command: [tool] } }
budgets: { perDayUsd: 25 }
routes:
${routes}`;
    await writeFile(join(dataDir, name), text);
    return text;
  };
  const check = (sha: string, conclusion: string, at: Date): void => {
    const instant = at.toISOString();
    const suite = {
      ...{ id: github.state.nextId(), head_branch: 'main', head_sha: sha, before: null, after: sha },
      created_at: instant,
    };
    repository.checkSuites.push(suite);
    const fields = {
      ...{ name: 'unit', status: 'completed', conclusion, started_at: instant, completed_at: instant },
      ...{ app: { id: 9 }, pull_requests: [], check_suite: { id: suite.id } },
    };
    repository.checkRuns.push({ id: github.state.nextId(), headSha: sha, fields });
  };
  return { dataDir, github, git, repository, daysAgo, check, configure };
}
