/**
 * The file of a repository that is only known by its signals, asked of GitHub: default branch, its head, the tree there,
 * the blob. The tree tells a plain file from a link, as git does; every question is conditional, and a blob never
 * changes, so a file that stands costs nothing of the rate limit.
 */
import { MAX_REPOSITORY_FILE_BYTES, REPOSITORY_FILE_NAME } from '@headgate/config';
import type { SourcePolicy } from '@headgate/domain';
import { type GithubAsker, type GithubOutcome, repositoryPath } from '@headgate/sources';
import type { FileFinding } from '@headgate/store';
import { z } from 'zod';
import { findingOf, unreadable } from './finding.js';

interface ApiQuery {
  readonly github: GithubAsker;
  readonly source: SourcePolicy;
  readonly fullName: string;
}

const home = z.object({ default_branch: z.string().min(1) });
const ref = z.object({ object: z.object({ sha: z.string() }) });
const entry = z.object({ path: z.string(), mode: z.string(), type: z.string(), sha: z.string() });
const tree = z.object({
  truncated: z.boolean().catch(false),
  tree: z.array(entry.extend({ size: z.int().optional() })),
});
const blob = z.object({ content: z.string(), encoding: z.literal('base64') });

const PLAIN_FILE = /^100/;

export async function readByApi(query: ApiQuery): Promise<FileFinding> {
  const repository = await ask(query, home);
  if (repository.kind !== 'found') return notRead(repository);
  const branch = repository.value.default_branch;
  const head = await ask(query, ref, 'git', 'ref', 'heads', branch);
  // A repository without a commit has no file.
  if (head.kind === 'absent' || head.kind === 'empty') return { kind: 'absent', commitSha: null };
  if (head.kind !== 'found') return notRead(head);
  return readAt(query, head.value.object.sha);
}

async function readAt(query: ApiQuery, commitSha: string): Promise<FileFinding> {
  const listed = await ask(query, tree, 'git', 'trees', commitSha);
  if (listed.kind !== 'found') return notRead(listed);
  const found = listed.value.tree.find(({ path }) => path === REPOSITORY_FILE_NAME);
  if (found === undefined) {
    return listed.value.truncated
      ? unreadable('GitHub lists only a part of the root folder.')
      : { kind: 'absent', commitSha };
  }
  if (found.type !== 'blob' || !PLAIN_FILE.test(found.mode)) {
    return unreadable(`${REPOSITORY_FILE_NAME} is not a plain file.`);
  }
  if ((found.size ?? 0) > MAX_REPOSITORY_FILE_BYTES) {
    return unreadable(
      `${REPOSITORY_FILE_NAME} has ${found.size} bytes, more than ${MAX_REPOSITORY_FILE_BYTES}.`,
    );
  }
  const content = await ask(query, blob, 'git', 'blobs', found.sha);
  if (content.kind !== 'found') return notRead(content);
  return findingOf(Buffer.from(content.value.content, 'base64'), found.sha, commitSha);
}

const ask = <T>(
  { github, source, fullName }: ApiQuery,
  shape: z.ZodType<T>,
  ...parts: readonly string[]
): Promise<GithubOutcome<T>> =>
  github.read({ source, repository: fullName, path: repositoryPath(fullName, ...parts), shape });

const notRead = (answer: Exclude<GithubOutcome<unknown>, { kind: 'found' }>): FileFinding =>
  unreadable(answer.kind === 'unchanged' ? 'GitHub said unchanged and no copy is left.' : answer.detail);
