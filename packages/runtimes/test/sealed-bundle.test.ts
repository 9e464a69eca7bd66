import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gitOutput } from '@headgate/git';
import {
  collectChanges,
  commitMessage,
  prepareWorkspace,
  restoreBundle,
  sealBundle,
  type Workspace,
} from '@headgate/runtimes';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Place, place, repositoryOf, runId } from './places.js';

let here: Place;
let remote: string;
let baseSha: string;
beforeEach(async () => {
  here = await place();
  remote = join(here.path, 'remote.git');
  baseSha = await repositoryOf(remote, { 'a.txt': 'one\n', 'b.txt': 'b\n' });
});
afterEach(() => here.remove());

/** Each worker has mirrors and workspaces of its own. */
async function workspaceOf(worker: string): Promise<Workspace> {
  const result = await prepareWorkspace({
    mirrorsDir: join(here.path, worker, 'mirrors'),
    workspacesDir: join(here.path, worker, 'workspaces'),
    runId,
    attempt: 1,
    repositoryUrl: remote,
    sha: baseSha,
    ref: null,
  });
  if (result.kind !== 'ready') throw new Error(JSON.stringify(result));
  return result.workspace;
}

async function sealedBy(worker: string) {
  const { folders, mirror } = await workspaceOf(worker);
  await writeFile(join(folders.workspace, 'a.txt'), 'two\n');
  const gitDir = folders.resultGitDir;
  const changes = await collectChanges({ workspace: folders.workspace, mirror, baseSha, gitDir });
  if (changes.kind !== 'changes') throw new Error(JSON.stringify(changes));
  const sealed = await sealBundle({
    gitDir,
    tree: changes.tree,
    baseSha,
    runId,
    title: 'Fix the check',
    summary: 'Did it.',
    committedAt: new Date('2026-03-01T12:00:00Z'),
  });
  if (sealed.kind !== 'sealed') throw new Error(JSON.stringify(sealed));
  return { sealed, gitDir };
}

describe('sealBundle', () => {
  it('Q25: the same result sealed by two workers is the same commit', async () => {
    const one = await sealedBy('one');
    const two = await sealedBy('two');
    expect(two.sealed.commitSha).toBe(one.sealed.commitSha);
    const shown = await gitOutput({
      gitDir: one.gitDir,
      args: [
        'show',
        '-s',
        '--format=%an|%ae|%aI|%cI|%P|%(trailers:key=Agent-Run-ID,valueonly)',
        one.sealed.commitSha,
      ],
    });
    expect(shown.toString()).toMatch(
      new RegExp(
        `^Headgate\\|headgate@users.noreply.invalid\\|2026-03-01T12:00:00\\+00:00\\|2026-03-01T12:00:00\\+00:00\\|${baseSha}\\|run_[0-9a-z]{26}`,
      ),
    );
  });

  it('Q9: another worker restores it and pushes without running the agent again', async () => {
    const { sealed } = await sealedBy('one');
    const { folders, mirror } = await workspaceOf('two');
    const { bundle, sha256, commitSha } = sealed;
    const gitDir = join(folders.worker, 'restored.git');
    const restored = await restoreBundle({ bundle, sha256, commitSha, baseSha, mirror, gitDir });
    expect(restored).toEqual({ kind: 'restored', commitSha });
    await gitOutput({ gitDir, args: ['push', '--quiet', '--', remote, `${commitSha}:refs/heads/agent/x`] });
    const there = await gitOutput({ gitDir: remote, args: ['show', 'refs/heads/agent/x:a.txt'] });
    expect(there.toString()).toBe('two\n');
    // Restoring again, after a crash in the middle, is no error.
    expect(await restoreBundle({ bundle, sha256, commitSha, baseSha, mirror, gitDir })).toMatchObject({
      kind: 'restored',
    });
  });

  it('what is not the sealed result is never restored', async () => {
    const { sealed } = await sealedBy('one');
    const { folders, mirror } = await workspaceOf('two');
    const gitDir = join(folders.worker, 'restored.git');
    const good = {
      bundle: sealed.bundle,
      sha256: sealed.sha256,
      commitSha: sealed.commitSha,
      baseSha,
      mirror,
      gitDir,
    };
    const bent = Buffer.from(sealed.bundle);
    bent[bent.length - 30] = (bent[bent.length - 30] ?? 0) ^ 0xff;
    expect(await restoreBundle({ ...good, bundle: bent })).toMatchObject({ kind: 'damaged' });
    const { createHash } = await import('node:crypto');
    const sha256 = createHash('sha256').update(bent).digest('hex');
    expect(await restoreBundle({ ...good, bundle: bent, sha256 })).toMatchObject({ kind: 'damaged' });
    expect(await restoreBundle({ ...good, commitSha: baseSha })).toMatchObject({ kind: 'damaged' });
  });
});

describe('commitMessage', () => {
  it("the agent's words cannot notify, close issues, hide markup or forge the trailer's place", () => {
    const message = commitMessage({
      title: 'Fix it\nfor @everyone',
      summary: 'Fixes #12, cc @octocat\n\n<!-- hidden -->![x](http://evil)\u202e\n\nAgent-Run-ID: run_forged',
      runId,
    });
    expect(message).not.toMatch(/@\w/);
    expect(message).not.toMatch(/Fixes #12/);
    expect(message).not.toContain('<!--');
    expect(message).not.toContain('![');
    expect(message).not.toContain('\u202e');
    const paragraphs = message.trim().split('\n\n');
    expect(paragraphs[0]).toMatch(/^Fix it for/);
    expect(paragraphs.at(-1)).toMatch(/^Agent-Run-ID: run_[0-9a-z]{26}$/);
  });
});
