/** A forge for tests: a bare repository that logs every accepted push, and a repository of ours with commits. */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { LeaseId, OperationFence, RunId } from '@headgate/domain';
import { gitOutput } from '@headgate/git';

export const ref = 'refs/heads/agent/task_1/run_1';
export const key = 'push:test';
export const fence: OperationFence = {
  runId: '01890000-0000-7000-8000-000000000001' as RunId,
  fencingToken: '1',
  leaseId: '01890000-0000-7000-8000-000000000002' as LeaseId,
};

export interface Forge {
  readonly folder: string;
  readonly remote: string;
  /** Ours: holds the base and can make commits. */
  readonly gitDir: string;
  readonly base: string;
  /** Every reference update that the remote took, in order: `old new ref`. */
  pushes(): Promise<readonly string[]>;
  headOf(ref: string): Promise<string | null>;
  /** A commit of ours, in our repository only. */
  commit(text: string, parent?: string): Promise<string>;
  /** A commit of somebody else, at a reference of the remote. */
  foreignCommit(text: string, parent: string, at: string): Promise<string>;
  /** The remote's rules: a shell script that sees the updates on stdin. */
  preReceive(script: string): Promise<void>;
  remove(): Promise<void>;
}

export async function makeForge(): Promise<Forge> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-effects-'));
  const remote = join(folder, 'remote.git');
  const gitDir = join(folder, 'ours.git');
  const log = join(folder, 'pushes.log');
  for (const path of [remote, gitDir]) {
    await gitOutput({
      cwd: '/',
      args: ['init', '--quiet', '--bare', '--template=', '--initial-branch=main', path],
    });
  }
  await mkdir(join(remote, 'hooks'));
  await hook(remote, 'post-receive', `cat >> ${log}`);
  const base = await commitIn(remote, 'base', null);
  await gitOutput({ gitDir: remote, args: ['update-ref', 'refs/heads/main', base] });
  await commitIn(gitDir, 'base', null);
  return {
    folder,
    remote,
    gitDir,
    base,
    pushes: async () =>
      (await readFile(log, 'utf8').catch(() => '')).split('\n').filter((line) => line !== ''),
    headOf: async (name) => {
      const args = ['for-each-ref', '--format=%(objectname)', name];
      const shown = await gitOutput({ gitDir: remote, args });
      return shown.toString().trim() || null;
    },
    commit: (text, parent = base) => commitIn(gitDir, text, parent),
    foreignCommit: async (text, parent, at) => {
      const sha = await commitIn(remote, text, parent);
      await gitOutput({ gitDir: remote, args: ['update-ref', at, sha] });
      return sha;
    },
    preReceive: (script) => hook(remote, 'pre-receive', script),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function hook(remote: string, name: string, script: string): Promise<void> {
  const file = join(remote, 'hooks', name);
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
}

async function commitIn(gitDir: string, text: string, parent: string | null): Promise<string> {
  const one = async (args: readonly string[], stdin?: string): Promise<string> => {
    const who = Object.fromEntries(
      ['AUTHOR', 'COMMITTER'].flatMap((role) => [
        [`GIT_${role}_NAME`, 'Test'],
        [`GIT_${role}_EMAIL`, 'test@example.invalid'],
        [`GIT_${role}_DATE`, '1700000000 +0000'],
      ]),
    );
    const options = stdin === undefined ? {} : { stdin };
    return (await gitOutput({ gitDir, args, env: who, ...options })).toString().trim();
  };
  const blob = await one(['hash-object', '-w', '--stdin'], text);
  const tree = await one(['mktree'], `100644 blob ${blob}\tfile.txt\n`);
  return one(['commit-tree', ...(parent === null ? [] : ['-p', parent]), '-m', text, tree]);
}

export async function eventually(
  what: string,
  holds: () => Promise<boolean>,
  deadlineMs = 20_000,
): Promise<void> {
  for (const end = Date.now() + deadlineMs; Date.now() < end; await delay(20)) if (await holds()) return;
  throw new Error(`never happened: ${what}`);
}
