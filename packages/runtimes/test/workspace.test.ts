import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@headgate/domain';
import {
  artifactPath,
  attemptFolders,
  identify,
  type PrepareWorkspaceResult,
  prepareWorkspace,
  removeWorkspace,
  sweepWorkspaces,
  type Workspace,
} from '@headgate/runtimes';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Place, place, repositoryOf, runId } from './places.js';

let here: Place;
let remote: string;
let sha: string;
beforeEach(async () => {
  here = await place();
  remote = join(here.path, 'remote.git');
  sha = await repositoryOf(remote, {
    'a.txt': 'one\n',
    'bin/run|100755': '#!/bin/sh\n',
    'deep/er/file.txt': 'x\r\ny\n',
    '.gitattributes': '*.txt text eol=crlf filter=evil ident\n',
    'link|120000': 'a.txt',
  });
});
afterEach(() => here.remove());

const prepare = (
  changes: Partial<Parameters<typeof prepareWorkspace>[0]> = {},
): Promise<PrepareWorkspaceResult> =>
  prepareWorkspace({
    mirrorsDir: join(here.path, 'mirrors'),
    workspacesDir: join(here.path, 'workspaces'),
    runId,
    attempt: 1,
    repositoryUrl: remote,
    sha,
    ref: 'refs/heads/main',
    ...changes,
  });

function ready(result: PrepareWorkspaceResult): Workspace {
  if (result.kind !== 'ready') throw new Error(JSON.stringify(result));
  return result.workspace;
}

describe('prepareWorkspace', () => {
  it('gives exactly the files of the commit, byte for byte, and no git', async () => {
    const { folders } = ready(await prepare());
    expect((await readdir(folders.workspace)).sort()).toEqual([
      '.gitattributes',
      'a.txt',
      'bin',
      'deep',
      'link',
    ]);
    expect(await readFile(join(folders.workspace, 'deep/er/file.txt'), 'utf8')).toBe('x\r\ny\n');
    expect((await lstat(join(folders.workspace, 'bin/run'))).mode & 0o111).toBe(0o111);
    expect(await readlink(join(folders.workspace, 'link'))).toBe('a.txt');
  });

  it('Q9: a new attempt has a place of its own, the same attempt starts anew', async () => {
    const first = ready(await prepare());
    await writeFile(join(first.folders.workspace, 'left.txt'), 'left');
    const second = ready(await prepare({ attempt: 2 }));
    expect(second.folders.root).not.toBe(first.folders.root);
    const again = ready(await prepare());
    expect(again.folders.root).toBe(first.folders.root);
    expect(existsSync(join(again.folders.workspace, 'left.txt'))).toBe(false);
  });

  it('many runs at once share the mirror', async () => {
    const all = await Promise.all([1, 2, 3, 4, 5, 6].map((attempt) => prepare({ attempt })));
    const mirrors = new Set(all.map((result) => ready(result).mirror));
    expect(mirrors.size).toBe(1);
  });

  it('Q17: says transient when the remote does not answer, gone when it no longer has the commit', async () => {
    expect(await prepare({ sha: 'f'.repeat(40) })).toMatchObject({ kind: 'gone' });
    await rename(remote, `${remote}.away`);
    expect(await prepare({ sha: 'e'.repeat(40) })).toMatchObject({
      kind: 'transient',
      code: 'GIT_CLONE_FAILED_TRANSIENT',
    });
  });

  it('Q5: stops when the run is cancelled', async () => {
    const controller = new AbortController();
    controller.abort();
    expect(await prepare({ signal: controller.signal })).toEqual({ kind: 'aborted' });
  });

  it('Q9: artifacts have the same path on every worker', () => {
    const path = artifactPath({ artifactsDir: '/data/artifacts', runId, attempt: 2, name: 'agent.log' });
    expect(path).toMatch(/^\/data\/artifacts\/run_[0-9a-z]{26}\/2\/agent\.log$/);
    expect(() => artifactPath({ artifactsDir: '/data', runId, attempt: 1, name: '../x' })).toThrow(TypeError);
  });
});

describe('removeWorkspace', () => {
  it('takes away what an agent locked, and is no error twice', async () => {
    const { folders } = ready(await prepare());
    await mkdir(join(folders.workspace, 'locked/inner'), { recursive: true });
    await chmod(join(folders.workspace, 'locked/inner'), 0o000);
    await chmod(join(folders.workspace, 'locked'), 0o000);
    await removeWorkspace(folders);
    await removeWorkspace(folders);
    expect(existsSync(folders.root)).toBe(false);
  });
});

describe('sweepWorkspaces', () => {
  const at = (ms: number): Clock => ({ now: () => new Date(ms), monotonicMs: () => ms });
  const hourMs = 3_600_000;
  const sweep = (nowMs: number) =>
    sweepWorkspaces({ workspacesDir: join(here.path, 'workspaces'), olderThanMs: hourMs, clock: at(nowMs) });
  const own = (file: string, owner: unknown) => writeFile(file, JSON.stringify(owner));

  it('leaves the folder of a living worker, however old it is', async () => {
    const { folders } = ready(await prepare());
    expect(await sweep(Date.now() + 1000 * hourMs)).toEqual([]);
    expect(existsSync(folders.root)).toBe(true);
  });

  it('Q4: takes the folder of a dead worker, and ends what its sandbox left running', async () => {
    const { folders, marker } = ready(await prepare());
    const owner = JSON.parse(await readFile(folders.ownerFile, 'utf8'));
    await own(folders.ownerFile, { ...owner, worker: { ...owner.worker, startTicks: '1' } });
    const left = spawn('sleep', ['600'], {
      env: { PATH: '/usr/bin:/bin', HEADGATE_SANDBOX: marker },
      stdio: 'ignore',
    });
    await once(left, 'spawn');
    const ended = once(left, 'exit');
    expect(await sweep(Date.now())).toEqual([{ path: folders.root, why: 'worker-dead', processesEnded: 1 }]);
    expect((await ended)[1]).toBe('SIGKILL');
    expect(await readdir(join(here.path, 'workspaces'))).toEqual([]);
  });

  it("judges another host's folder, or one without an owner, by its age alone", async () => {
    const elsewhere = ready(await prepare({ attempt: 1 })).folders;
    const nobody = ready(await prepare({ attempt: 2 })).folders;
    await own(elsewhere.ownerFile, { host: 'other', worker: identify(process.pid), marker: 'm' });
    await writeFile(nobody.ownerFile, '{"host":');
    expect(await sweep(Date.now())).toEqual([]);
    const long = new Date(Date.now() - 2 * hourMs);
    for (const folders of [elsewhere, nobody]) await utimes(folders.root, long, long);
    expect((await sweep(Date.now())).map(({ why }) => why)).toEqual(['old', 'old']);
    expect(await sweep(Date.now())).toEqual([]);
  });

  it('has nothing to do where there is nothing', async () => {
    expect(attemptFolders({ workspacesDir: here.path, runId, attempt: 1 }).root).toContain(here.path);
    expect(await sweep(0)).toEqual([]);
  });
});
