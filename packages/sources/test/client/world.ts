/** A fake GitHub with one repository, and a client of it. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '@headgate/domain';
import { bareRepository, FakeGitHub } from '@headgate/testkit/github';
import { onTestFinished } from 'vitest';
import { GithubClient, type GithubClientOptions, type GithubSource } from '../../src/index.js';

const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
});

export const APP = { id: 7, publicKey, privateKey };

/** A clock that a test moves. Its wall time goes on from now, since GitHub judges a JWT by it. */
export class HandClock implements Clock {
  #aheadMs = 0;
  now = (): Date => new Date(Date.now() + this.#aheadMs);
  monotonicMs = (): number => performance.now() + this.#aheadMs;
  pass(ms: number): void {
    this.#aheadMs += ms;
  }
}

export async function aForge(options: Partial<GithubClientOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-client-'));
  const git = await bareRepository({ path: join(folder, 'api.git') });
  const github = await FakeGitHub.start();
  onTestFinished(async () => {
    await github.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  github.addRepository({ id: 42, fullName: 'acme/api', git });
  const clock = new HandClock();
  const env: Record<string, string> = { TOKEN: 'ghp_secret' };
  const client = new GithubClient({
    clock,
    env,
    configPath: join(folder, 'headgate.yaml'),
    timeoutMs: 5_000,
    retryAfterMs: 1,
    ...options,
  });
  const writeApp = (content: unknown): void =>
    writeFileSync(join(folder, 'app.json'), JSON.stringify(content));
  const source: GithubSource = { id: 'acme', app: null, token: `\${TOKEN}`, baseUrl: github.url };
  return { github, git, client, clock, env, source, folder, writeApp };
}

/** The same forge, seen by an App only. */
export async function anAppForge(
  permissions: Record<string, string> = { contents: 'write', metadata: 'read' },
) {
  const forge = await aForge();
  forge.github.state.app = { id: APP.id, publicKey, installationId: 55, permissions };
  forge.writeApp({ id: APP.id, privateKey, webhookSecret: 'hook' });
  return { ...forge, source: { ...forge.source, app: 'file:app.json', token: null } };
}
