import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gitEnvironment, gitOutput, isBranchRef, runGit, withoutCredentials } from '@headgate/git';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bareRepository, git, gone, type TemporaryFolder, temporaryFolder } from './repository.js';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

describe('runGit', () => {
  it('gives the output and the exit code', async () => {
    const result = await runGit({ args: ['--version'] });
    expect(result).toMatchObject({ kind: 'exited', code: 0 });
    expect(await runGit({ args: ['no-such-command'] })).toMatchObject({ kind: 'exited', code: 1 });
  });

  it('hands nothing of our own environment to git', () => {
    process.env['HEADGATE_TEST_CANARY'] = 'canary-7f2c';
    const env = gitEnvironment({ env: { GIT_INDEX_FILE: '/x' } });
    delete process.env['HEADGATE_TEST_CANARY'];
    expect(JSON.stringify(env)).not.toContain('canary-7f2c');
    expect(env['GIT_INDEX_FILE']).toBe('/x');
    expect(env['HOME']).toBe('/nonexistent');
  });

  it("runs neither hooks nor a file system monitor that a repository's configuration names", async () => {
    const [sha = ''] = await bareRepository(join(folder.path, 'r.git'));
    const gitDir = join(folder.path, 'r.git');
    const marker = join(folder.path, 'executed');
    const script = join(folder.path, 'evil.sh');
    await writeFile(script, `#!/bin/sh\ntouch ${marker}\n`);
    await chmod(script, 0o755);
    await mkdir(join(gitDir, 'hooks'), { recursive: true });
    await writeFile(join(gitDir, 'hooks', 'reference-transaction'), `#!/bin/sh\ntouch ${marker}\n`, {
      mode: 0o755,
    });
    await writeFile(
      join(gitDir, 'config'),
      `${await readFile(join(gitDir, 'config'), 'utf8')}\tfsmonitor = ${script}\n\thooksPath = ${gitDir}/hooks\n`,
    );
    await git(gitDir, 'update-ref', 'refs/heads/other', sha);
    expect(existsSync(marker)).toBe(false);
  });

  it('refuses transports that run commands', async () => {
    const marker = join(folder.path, 'executed');
    const result = await runGit({ args: ['ls-remote', '--', `ext::touch ${marker}`] });
    expect(result).toMatchObject({ kind: 'exited', code: 128 });
    expect(existsSync(marker)).toBe(false);
  });

  it('stops a git that takes too long, together with its children', async () => {
    const pidFile = join(folder.path, 'pid');
    const result = await runGit({
      args: ['-c', `alias.wait=!echo $$ > ${pidFile}; exec sleep 600`, 'wait'],
      timeoutMs: 2_000,
    });
    expect(result).toEqual({ kind: 'timeout', timeoutMs: 2_000 });
    const pid = Number(await readFile(pidFile, 'utf8'));
    await gone(pid);
  });

  it('stops when the caller does', async () => {
    const controller = new AbortController();
    const running = runGit({ args: ['-c', 'alias.wait=!exec sleep 600', 'wait'], signal: controller.signal });
    controller.abort();
    expect(await running).toEqual({ kind: 'aborted' });
    expect(await runGit({ args: ['--version'], signal: controller.signal })).toEqual({ kind: 'aborted' });
  });

  it('stops a git that prints without end', async () => {
    const result = await runGit({ args: ['-c', 'alias.noise=!exec yes', 'noise'], maxOutputBytes: 100_000 });
    expect(result).toEqual({ kind: 'output-limit', maxOutputBytes: 100_000 });
  });

  it('says so when git cannot be started', async () => {
    const result = await runGit({ args: ['--version'], cwd: join(folder.path, 'missing') });
    expect(result.kind).toBe('start-failed');
  });

  it('throws where only a fault can make git fail, without credentials in the message', async () => {
    const failing = gitOutput({ args: ['ls-remote', '--', 'file://user:s3cret@/nowhere/at/all'] });
    await expect(failing).rejects.toThrow(/git exited with 128/);
    await expect(failing).rejects.not.toThrow(/s3cret/);
    expect(withoutCredentials('see https://x:token@host/a and ssh://git@host/b')).toBe(
      'see https://host/a and ssh://host/b',
    );
  });
});

describe('isBranchRef', () => {
  it.each(['refs/heads/main', 'refs/heads/agent/task_1/run_2', 'refs/heads/ünïcode'])('takes %s', (ref) => {
    expect(isBranchRef(ref)).toBe(true);
  });

  it.each([
    'main',
    'refs/heads/',
    'refs/tags/v1',
    'refs/heads/a..b',
    'refs/heads/a b',
    'refs/heads/.hidden',
    'refs/heads/a.lock',
    'refs/heads/a/',
    'refs/heads/a//b',
    'refs/heads/a\nb',
    'refs/heads/a:b',
    'refs/heads/@{1}',
    '--upload-pack=x',
  ])('refuses %j', (ref) => {
    expect(isBranchRef(ref)).toBe(false);
  });
});
