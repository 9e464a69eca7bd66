/** Real repositories for tests: a bare remote with known commits. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gitOutput } from '@headgate/git';

export interface TemporaryFolder {
  readonly path: string;
  remove(): Promise<void>;
}

export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), 'headgate-git-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

export async function git(gitDir: string, ...args: string[]): Promise<string> {
  return (await gitOutput({ gitDir, args })).toString('utf8').trim();
}

/** A bare repository; `refs/heads/main` holds one commit per text. Gives their SHAs, oldest first. */
export async function bareRepository(path: string, texts: readonly string[] = ['one']): Promise<string[]> {
  await gitOutput({
    cwd: '/',
    args: ['init', '--quiet', '--bare', '--template=', '--initial-branch=main', path],
  });
  const shas: string[] = [];
  for (const text of texts) shas.push(await commit(path, text, shas.at(-1) ?? null, 'refs/heads/main'));
  return shas;
}

/** Commits a tree of one file, and moves `ref` there unless it is null. */
export async function commit(
  gitDir: string,
  text: string,
  parent: string | null,
  ref: string | null,
): Promise<string> {
  const blob = (await gitOutput({ gitDir, args: ['hash-object', '-w', '--stdin'], stdin: text }))
    .toString()
    .trim();
  const tree = (await gitOutput({ gitDir, args: ['mktree'], stdin: `100644 blob ${blob}\tfile.txt\n` }))
    .toString()
    .trim();
  const identity = { NAME: 'Test', EMAIL: 'test@example.invalid', DATE: '1700000000 +0000' };
  const env = Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((who) =>
      Object.entries(identity).map(([what, value]) => [`GIT_${who}_${what}`, value]),
    ),
  );
  const parents = parent === null ? [] : ['-p', parent];
  const sha = (await gitOutput({ gitDir, env, args: ['commit-tree', ...parents, '-m', text, tree] }))
    .toString()
    .trim();
  if (ref !== null) await git(gitDir, 'update-ref', ref, sha);
  return sha;
}

/** Waits until a process has ended (a zombie that nobody has collected yet has). Fails after half a minute. */
export async function gone(pid: number): Promise<void> {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; await delay(20)) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
    if (stat === null || stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z')) return;
  }
  throw new Error(`process ${pid} still runs`);
}
