/** What a look would have found, had the last one been some days ago (I10). */
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { SourcePolicy } from '@headgate/domain';
import { temporaryDataFolder } from '@headgate/testkit';
import { type BareRepository, bareRepository } from '@headgate/testkit/github';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { BoundedAsker, type GithubAsker, type Look, lookBack } from '../src/index.js';
import { aSource } from './sources.js';

const NOW = new Date('2026-03-01T12:00:00Z');
const SINCE = new Date('2026-02-22T12:00:00Z');
const unasked: GithubAsker = { read: () => Promise.reject(new Error('GitHub was asked')) };

afterEach(() => vi.unstubAllEnvs());

async function aRepository(): Promise<BareRepository> {
  const git = await bareRepository({ path: join(temporaryDataFolder(), 'api.git'), commits: 0 });
  await git.commit({ files: { 'a.txt': 'a' }, at: new Date('2026-02-01T00:00:00Z') });
  return git;
}

function back(url: string, changes: Partial<SourcePolicy> = {}): Promise<Look> {
  const repository = { fullName: 'acme/api', url, defaultBranch: 'main', ciTrusted: false };
  const source = aSource({ kind: 'git', repositories: [repository], ...changes });
  const listened = ['git.push'];
  const signal = AbortSignal.timeout(30_000);
  return lookBack({ source, repository, listened, since: SINCE, now: NOW, signal }, unasked);
}

const told = (look: Look) =>
  look.kind === 'looked' ? look.changes.flatMap(({ signals }) => signals) : [look.detail];

/** An ssh that reaches this machine whatever host is named, so that git speaks to a real upload-pack. */
function stubSsh(): void {
  const folder = join(temporaryDataFolder(), 'bin');
  mkdirSync(folder);
  writeFileSync(join(folder, 'ssh'), '#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n');
  chmodSync(join(folder, 'ssh'), 0o755);
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH']}`);
}

describe('a look back at git', () => {
  it('tells a branch that moved, from where it stood, at the time of its commit', async () => {
    const git = await aRepository();
    const before = await git.head();
    const at = new Date('2026-02-25T08:00:00Z');
    const after = await git.commit({ files: { 'a.txt': 'b' }, at });
    expect(told(await back(git.path))).toMatchObject([
      { type: 'git.push', inputVersion: after, parentVersions: [before], receivedAt: at },
    ]);
  });

  it('tells nothing of what stood when the span began', async () => {
    const git = await aRepository();
    await git.commit({ files: { 'a.txt': 'b' }, at: new Date(SINCE.getTime() - 1_000) });
    expect(told(await back(git.path))).toEqual([]);
  });

  it('fetches the commits of a repository elsewhere, and leaves nothing behind', async () => {
    const git = await aRepository();
    stubSsh();
    const left = () => readdirSync(tmpdir()).filter((name) => name.startsWith('headgate-look-back-'));
    const before = left();
    const after = await git.commit({ files: { 'a.txt': 'b' }, at: new Date('2026-02-25T08:00:00Z') });
    const look = await back(`ssh://git@forge.example${git.path}`);
    expect(told(look)).toMatchObject([{ inputVersion: after }]);
    expect(look).toMatchObject({ kind: 'looked', isWhole: true, detail: null });
    expect(left()).toEqual(before);
  });

  it('a repository that is not there is no quiet one', async () => {
    const look = await back(join(temporaryDataFolder(), 'none.git'));
    expect(look).toMatchObject({ kind: 'failed', outcome: 'unavailable' });
  });
});

it('a repository on this machine is not asked for at GitHub', async () => {
  const git = await aRepository();
  const look = await back(git.path, { kind: 'github', token: null, app: null, baseUrl: null });
  expect(look).toMatchObject({ kind: 'failed', outcome: 'denied' });
});

it('a bounded asker asks no more than it may, and says so', async () => {
  let asked = 0;
  const client: ConstructorParameters<typeof BoundedAsker>[0]['client'] = {
    rates: () => [],
    read: () => {
      asked += 1;
      return Promise.resolve({ kind: 'unchanged' });
    },
  };
  const asker = new BoundedAsker({ client, mostReads: 2 });
  const question = { source: aSource(), repository: 'acme/api', path: '/x', shape: {} as never };
  const answers = [];
  for (let n = 0; n < 3; n += 1) answers.push((await asker.read(question)).kind);
  expect(answers).toEqual(['unchanged', 'unchanged', 'unavailable']);
  expect(asked).toBe(2);
});
