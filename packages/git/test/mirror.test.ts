import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureCommit, hasCommit, mirrorPath } from '@headgate/git';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bareRepository, commit, git, type TemporaryFolder, temporaryFolder } from './repository.js';

let folder: TemporaryFolder;
let remote: string;
let mirrorsDir: string;
let shas: string[];

beforeEach(async () => {
  folder = await temporaryFolder();
  remote = join(folder.path, 'remote.git');
  mirrorsDir = join(folder.path, 'mirrors');
  shas = await bareRepository(remote, ['one', 'two', 'three', 'four']);
});
afterEach(() => folder.remove());

const ensure = (sha: string, options: { config?: Record<string, string>; timeoutMs?: number } = {}) =>
  ensureCommit({
    mirrorsDir,
    url: remote,
    sha,
    ref: null,
    ...options,
  });

describe('ensureCommit', () => {
  it('Q9: many runs at once share one mirror, and each finds its commit', async () => {
    const results = await Promise.all([...shas, ...shas, ...shas].map((sha) => ensure(sha)));
    const mirror = mirrorPath(mirrorsDir, remote);
    for (const result of results) expect(result).toEqual({ kind: 'ready', mirror });
    for (const sha of shas) expect(await hasCommit(mirror, sha)).toBe(true);
    await git(mirror, 'fsck', '--connectivity-only');
  });

  it('does not ask the remote for what it has', async () => {
    const [sha = ''] = shas;
    await ensure(sha);
    await rename(remote, `${remote}.away`);
    expect(await ensure(sha)).toMatchObject({ kind: 'ready' });
  });

  it('tells a commit that is gone from a remote that does not answer', async () => {
    expect(await ensure('0123456789'.repeat(4))).toMatchObject({ kind: 'gone' });
    await rm(remote, { recursive: true });
    expect(await ensure('0123456789'.repeat(4))).toMatchObject({ kind: 'transient' });
  });

  it('falls back to the branches where a server refuses commits by name', async () => {
    const [first = ''] = shas;
    expect(await ensure(first, { config: { 'protocol.version': '0' } })).toMatchObject({ kind: 'ready' });
  });

  it('keeps a commit that the remote forgets later', async () => {
    const lost = await commit(remote, 'to be rebased away', shas[0] ?? null, 'refs/heads/topic');
    await ensure(lost);
    await git(remote, 'update-ref', '-d', 'refs/heads/topic');
    await git(remote, 'gc', '--quiet', '--prune=now');
    expect(await ensure(lost)).toMatchObject({ kind: 'ready' });
  });

  it('waits for another process at the mirror, and the lock of a killed one holds nobody up', async () => {
    const mirror = mirrorPath(mirrorsDir, remote);
    await ensure(shas[0] ?? '');
    const holder = spawn(
      'flock',
      ['--exclusive', `${mirror}.lock`, 'sh', '-c', 'echo held; exec sleep 600'],
      {
        detached: true,
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    await once(holder.stdout, 'data');
    const blocked = await ensure(shas[1] ?? '', { timeoutMs: 500 });
    expect(blocked).toMatchObject({ kind: 'transient' });
    if (holder.pid === undefined) throw new Error('flock did not start');
    process.kill(-holder.pid, 'SIGKILL');
    expect(await ensure(shas[1] ?? '')).toMatchObject({ kind: 'ready' });
  });

  it('stops at once when the run is cancelled', async () => {
    const controller = new AbortController();
    controller.abort();
    const input = { mirrorsDir, url: remote, sha: shas[0] ?? '', ref: null, signal: controller.signal };
    expect(await ensureCommit(input)).toEqual({ kind: 'aborted' });
  });

  it('finds the same mirror whatever token the address carries', () => {
    expect(mirrorPath('/m', 'https://x:one@host/a.git')).toBe(mirrorPath('/m', 'https://x:two@host/a.git'));
    expect(mirrorPath('/m', 'https://host/a.git')).not.toBe(mirrorPath('/m', 'https://host/b.git'));
  });
});
