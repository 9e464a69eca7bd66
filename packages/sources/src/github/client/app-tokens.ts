/**
 * Tokens of a GitHub App: for one repository, to read. They last an hour and are used for 59 minutes; the App's own
 * key never leaves this process.
 */
import { createAppAuth } from '@octokit/auth-app';
import type { Octokit } from '@octokit/core';
import { z } from 'zod';
import type { GithubCredentials } from './credentials.js';

type App = Extract<GithubCredentials, { kind: 'app' }>;

/** All that is ever read. What the installation was not granted is left out: asking for it would be refused whole. */
const READ = [
  'actions',
  'checks',
  'contents',
  'issues',
  'metadata',
  'organization_hooks',
  'pull_requests',
  'repository_hooks',
  'statuses',
] as const;

const installation = z.object({
  id: z.int(),
  permissions: z.record(z.string(), z.string()).catch({}),
});

interface Installation {
  readonly id: number;
  readonly permissions: Readonly<Record<string, 'read'>>;
  readonly untilMs: number;
}

/** Where an App is installed changes seldom; a change counts after this at the latest. */
const REMEMBERED_MS = 600_000;

export class AppTokens {
  readonly #auth: ReturnType<typeof createAppAuth>;
  readonly #octokit: Octokit;
  readonly #nowMs: () => number;
  readonly #installations = new Map<string, Installation>();

  constructor(app: App, octokit: Octokit, nowMs: () => number) {
    this.#auth = createAppAuth({ appId: app.appId, privateKey: app.privateKey, request: octokit.request });
    this.#octokit = octokit;
    this.#nowMs = nowMs;
  }

  /** The App as itself: its installations, and the deliveries of its hook. */
  async ofApp(): Promise<string> {
    return (await this.#auth({ type: 'app' })).token;
  }

  /** Throws what the request threw: 404 means that the App is not installed on this repository. */
  async ofRepository(fullName: string, isRefused: boolean): Promise<{ token: string; scope: string }> {
    const [owner = '', repo = ''] = fullName.split('/');
    const { id, permissions } = await this.#installationOf(owner, repo, isRefused);
    const { token } = await this.#auth({
      type: 'installation',
      installationId: id,
      repositoryNames: [repo],
      permissions,
      refresh: isRefused,
    });
    return { token, scope: `installation ${id}` };
  }

  /** For one call that writes: this repository, these rights, used once and never kept. */
  async toWrite(fullName: string, rights: readonly string[]): Promise<{ token: string; scope: string }> {
    const [owner = '', repo = ''] = fullName.split('/');
    const { id } = await this.#installationOf(owner, repo, false);
    const { token } = await this.#auth({
      type: 'installation',
      installationId: id,
      repositoryNames: [repo],
      permissions: Object.fromEntries(rights.map((right) => [right, 'write'])),
      refresh: true,
    });
    return { token, scope: `installation ${id}` };
  }

  async #installationOf(owner: string, repo: string, isRefused: boolean): Promise<Installation> {
    const name = `${owner}/${repo}`.toLowerCase();
    const known = this.#installations.get(name);
    if (known !== undefined && !isRefused && known.untilMs > this.#nowMs()) return known;
    const { data } = await this.#octokit.request('GET /repos/{owner}/{repo}/installation', {
      owner,
      repo,
      headers: { authorization: `bearer ${await this.ofApp()}` },
    });
    const { id, permissions } = installation.parse(data);
    const granted = READ.filter((name) => Object.hasOwn(permissions, name));
    const read = Object.fromEntries(granted.map((name) => [name, 'read' as const]));
    const found = { id, permissions: read, untilMs: this.#nowMs() + REMEMBERED_MS };
    this.#installations.set(name, found);
    return found;
  }
}
