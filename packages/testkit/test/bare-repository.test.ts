import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bareRepository } from '@headgate/testkit/github';
import { afterAll, describe, expect, it } from 'vitest';

describe('bare repository', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bare-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const make = (name: string) => bareRepository({ path: join(folder, name) });

  /** A push as a worker makes it: from a clone, with every hook of its own switched off. */
  function push(path: string, clone: string, refspec: string, ...options: string[]): void {
    const env = {
      ...process.env,
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'core.hooksPath',
      GIT_CONFIG_VALUE_0: '/dev/null',
    };
    execFileSync('git', ['-C', clone, 'push', '--quiet', ...options, path, refspec], { env, stdio: 'pipe' });
  }

  function cloneOf(path: string, name: string): string {
    const clone = join(folder, name);
    execFileSync('git', ['clone', '--quiet', path, clone]);
    return clone;
  }

  function commitIn(clone: string, file: string, text: string): string {
    writeFileSync(join(clone, file), text);
    execFileSync('git', ['-C', clone, 'add', '.']);
    const who = ['-c', 'user.name=Agent', '-c', 'user.email=agent@example.com'];
    execFileSync('git', ['-C', clone, ...who, 'commit', '--quiet', '-m', `Add ${file}`]);
    return execFileSync('git', ['-C', clone, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  }

  it('is the same, commit for commit, each time it is made', async () => {
    const [one, other] = [await make('one.git'), await make('other.git')];
    expect(await one.refs()).toEqual(await other.refs());
    expect(await one.history()).toHaveLength(3);
  });

  it('takes commits on new and old branches, with removed files and any text', async () => {
    const repository = await make('commits.git');
    const base = await repository.head();
    const sha = await repository.commit({
      branch: 'feature/x',
      files: { 'ü/a.txt': 'ünï\n🌊', 'README.md': null },
    });
    expect(await repository.head('feature/x')).toBe(sha);
    expect(await repository.head()).toBe(base);
    expect(await repository.read('feature/x', 'ü/a.txt')).toBe('ünï\n🌊');
    await expect(repository.read(sha, 'README.md')).rejects.toThrow();
    const [newest] = await repository.history('feature/x');
    expect(newest).toMatchObject({ sha, parents: [base] });
    await repository.deleteBranch('feature/x');
    expect(await repository.head('feature/x')).toBeNull();
  });

  it('records each push once, by content, and none of its own set-up', async () => {
    const repository = await make('pushes.git');
    expect(await repository.pushes()).toEqual([]);
    const before = await repository.head();
    const clone = cloneOf(repository.path, 'clone');
    const sha = commitIn(clone, 'a.txt', 'a');
    push(repository.path, clone, 'HEAD:refs/heads/agent/t/r');
    push(repository.path, clone, 'HEAD:refs/heads/agent/t/r');
    push(repository.path, clone, 'HEAD:refs/heads/main');
    await repository.commit({ files: { 'later.txt': 'by a colleague' } });
    expect(await repository.pushes()).toEqual([
      { ref: 'refs/heads/agent/t/r', before: null, after: sha },
      { ref: 'refs/heads/main', before, after: sha },
    ]);
    push(repository.path, clone, ':refs/heads/agent/t/r');
    expect((await repository.pushes()).at(-1)).toMatchObject({ before: sha, after: null });
  });

  it('does not record a push that was refused', async () => {
    const repository = await make('refused.git');
    const clone = cloneOf(repository.path, 'clone-refused');
    commitIn(clone, 'a.txt', 'a');
    await repository.commit({ files: { 'b.txt': 'first' } });
    expect(() => push(repository.path, clone, 'HEAD:refs/heads/main')).toThrow();
    expect(await repository.pushes()).toEqual([]);
  });
});
