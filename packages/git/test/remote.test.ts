import { chmod, chown, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lsRemote, pushCommit, readPushReport, remoteContains } from '@headgate/git';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bareRepository, commit, git, type TemporaryFolder, temporaryFolder } from './repository.js';

let folder: TemporaryFolder;
let remote: string;
let local: string;
let base: string;
const ref = 'refs/heads/agent/x';

beforeEach(async () => {
  folder = await temporaryFolder();
  remote = join(folder.path, 'remote.git');
  local = join(folder.path, 'local.git');
  [base = ''] = await bareRepository(remote);
  await bareRepository(local);
});
afterEach(() => folder.remove());

describe('lsRemote', () => {
  it('reads the named references and no others', async () => {
    await git(remote, 'update-ref', 'refs/other/refs/heads/main', base);
    const read = await lsRemote(remote, ['refs/heads/main', 'refs/heads/missing']);
    expect(read).toEqual({ kind: 'refs', refs: new Map([['refs/heads/main', base]]) });
  });

  it('says unavailable, not empty, when the remote does not answer', async () => {
    expect(await lsRemote(join(folder.path, 'nowhere.git'), [ref])).toMatchObject({ kind: 'unavailable' });
  });

  it.skipIf(process.getuid?.() !== 0)(
    'reads and pushes to a repository that belongs to another user',
    async () => {
      await chownTree(remote, 65534);
      expect(await lsRemote(remote, ['refs/heads/main'])).toMatchObject({ kind: 'refs' });
      const sha = await commit(local, 'two', base, null);
      const input = { gitDir: local, url: remote, commitSha: sha, ref, expectedOldSha: null };
      expect(await pushCommit(input)).toMatchObject({ kind: 'pushed' });
    },
  );
});

describe('pushCommit', () => {
  const push = (commitSha: string, expectedOldSha: string | null) =>
    pushCommit({ gitDir: local, url: remote, commitSha, ref, expectedOldSha });

  it('INV-EF5: creates a branch only where none is, and says nothing moved when ours is there', async () => {
    const ours = await commit(local, 'ours', base, null);
    const theirs = await commit(local, 'theirs', base, null);
    expect(await push(ours, null)).toMatchObject({ kind: 'pushed', moved: true });
    expect(await push(ours, null)).toMatchObject({ kind: 'pushed', moved: false });
    expect(await push(theirs, null)).toMatchObject({ kind: 'stale' });
    expect(await git(remote, 'rev-parse', ref)).toBe(ours);
  });

  it('INV-EF5: moves a branch only from exactly the expected commit', async () => {
    const first = await commit(local, 'first', base, null);
    const colleague = await commit(remote, 'colleague', base, ref);
    const second = await commit(local, 'second', first, null);
    expect(await push(second, first)).toMatchObject({ kind: 'stale' });
    expect(await git(remote, 'rev-parse', ref)).toBe(colleague);
    expect(await push(second, colleague)).toMatchObject({ kind: 'pushed' });
  });

  it("tells the remote's refusal from a lost answer", async () => {
    await mkdir(join(remote, 'hooks'), { recursive: true });
    await writeFile(join(remote, 'hooks', 'pre-receive'), '#!/bin/sh\nexit 1\n');
    await chmod(join(remote, 'hooks', 'pre-receive'), 0o755);
    const sha = await commit(local, 'ours', base, null);
    expect(await push(sha, null)).toMatchObject({ kind: 'refused' });
    const nowhere = { gitDir: local, url: join(folder.path, 'nowhere.git'), commitSha: sha, ref };
    expect(await pushCommit({ ...nowhere, expectedOldSha: null })).toMatchObject({ kind: 'unknown' });
  });

  it('never lets a name reach the argument list unchecked', async () => {
    const input = { gitDir: local, url: remote, commitSha: base, expectedOldSha: null };
    await expect(pushCommit({ ...input, ref: '--mirror' })).rejects.toThrow(TypeError);
    await expect(pushCommit({ ...input, ref, commitSha: 'HEAD' })).rejects.toThrow(TypeError);
  });

  it.each([
    ['!\tx:refs/heads/a\t[rejected] (stale info)', 1, 'stale'],
    ['!\tx:refs/heads/a\t[remote rejected] (protected branch hook declined)', 1, 'refused'],
    ['!\tx:refs/heads/a\t[remote rejected] (failed to update ref)', 1, 'unknown'],
    ['!\tx:refs/heads/a\t[remote rejected] (unpacker error)', 1, 'unknown'],
    ['!\tx:refs/heads/a\t[remote failure] (remote failed to report status)', 1, 'unknown'],
    ['*\tx:refs/heads/a\t[new branch]', 0, 'pushed'],
    ['*\tx:refs/heads/a\t[new branch]', 1, 'unknown'],
    ['*\tx:refs/heads/b\t[new branch]', 0, 'unknown'],
    ['', 128, 'unknown'],
  ])('reads the report %j with exit code %i as %s', (line, code, kind) => {
    expect(readPushReport(`To /srv\n${line}\nDone\n`, 'refs/heads/a', code, 'detail').kind).toBe(kind);
  });
});

describe('remoteContains', () => {
  it('finds our commit beneath what others built upon it, and nowhere else', async () => {
    const ours = await commit(local, 'ours', base, null);
    await pushCommit({ gitDir: local, url: remote, commitSha: ours, ref, expectedOldSha: null });
    const onTop = await commit(remote, 'on top', ours, ref);
    const beside = await commit(remote, 'beside', base, 'refs/heads/beside');
    const ask = (tipSha: string) => remoteContains({ gitDir: local, url: remote, tipSha, commitSha: ours });
    expect(await ask(onTop)).toBe(true);
    expect(await ask(beside)).toBe(false);
    expect(await ask('f'.repeat(40))).toBe(false);
  });
});

async function chownTree(path: string, uid: number): Promise<void> {
  await chown(path, uid, uid);
  for (const entry of await readdir(path, { recursive: true })) await chown(join(path, entry), uid, uid);
}
