/** Writes the changed files as objects, and the tree that has them. */
import { join } from 'node:path';
import { describeGit, GitError, gitOutput, objectFormatOf, runGit, zeroSha } from '@headgate/git';
import type { Change } from './change.js';
import { type Refusal, refused } from './refusal.js';

export async function writeTree(input: {
  readonly gitDir: string;
  readonly baseSha: string;
  readonly changes: readonly Change[];
  /** `blobs/{object name}` holds each content. */
  readonly staging: string;
  readonly signal?: AbortSignal;
}): Promise<{ readonly kind: 'written'; readonly tree: string } | Refusal> {
  const { gitDir, baseSha, changes, staging } = input;
  const options = {
    gitDir,
    env: { GIT_INDEX_FILE: join(staging, 'index') },
    ...(input.signal === undefined ? {} : { signal: input.signal }),
  };
  const oids = [...new Set(changes.filter(({ status }) => status !== 'deleted').map(({ oid }) => oid))];
  if (oids.length > 0) {
    // The names are our own hashes, so the line-by-line form is safe.
    const written = await gitOutput({
      ...options,
      args: ['hash-object', '-w', '--no-filters', '--stdin-paths'],
      stdin: oids.map((oid) => `${join(staging, 'blobs', oid)}\n`).join(''),
    });
    if (written.toString('utf8').trim() !== oids.join('\n')) {
      throw new GitError(['hash-object'], {
        kind: 'exited',
        code: 0,
        stdout: written,
        stderr: 'other hashes than ours',
      });
    }
  }
  await gitOutput({ ...options, args: ['read-tree', baseSha] });
  // Deletions first: a folder may take the place of a file.
  const none = zeroSha(objectFormatOf(baseSha));
  const lines = [
    ...changes.filter(({ status }) => status === 'deleted').map(({ path }) => `0 ${none}\t${path}\0`),
    ...changes
      .filter(({ status }) => status !== 'deleted')
      .map(({ mode, oid, path }) => `${mode} ${oid}\t${path}\0`),
  ];
  const indexed = await runGit({
    ...options,
    args: ['update-index', '--add', '--replace', '-z', '--index-info'],
    stdin: lines.join(''),
  });
  // git has rules of its own for paths, and they may grow with its version.
  if (indexed.kind === 'exited' && indexed.code !== 0) {
    return refused('JUDGE_REJECTED', `git does not take a path of the result: ${describeGit(indexed)}`);
  }
  if (indexed.kind !== 'exited') throw new GitError(['update-index'], indexed);
  const tree = (await gitOutput({ ...options, args: ['write-tree'] })).toString('utf8').trim();
  return { kind: 'written', tree };
}
