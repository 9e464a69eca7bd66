/**
 * `.headgate.yaml` as it stands at the head of a repository's default branch: read through the bare mirror where the
 * configuration says where git reaches it, else by the forge's API. Never from a pull request, and never guessed: what
 * cannot be read is unreadable, and not absent.
 */
import { MAX_REPOSITORY_FILE_BYTES, REPOSITORY_FILE_NAME } from '@headgate/config';
import type { Clock, Policy, RepositoryPolicy, SourcePolicy } from '@headgate/domain';
import { ensureCommit, fileAt } from '@headgate/git';
import { type GithubAsker, GitSourceReader, gitRepositoryId, hasCredentials } from '@headgate/sources';
import type { ClaimedFile, FileFinding } from '@headgate/store';
import { findingOf, unreadable } from './finding.js';
import { readByApi } from './read-by-api.js';

const READ_TIMEOUT_MS = 10_000;
const FETCH_TIMEOUT_MS = 60_000;

export interface ReadOptions {
  readonly policy: Policy;
  readonly mirrorsDir: string;
  readonly clock: Clock;
  readonly github: GithubAsker;
}

export async function readFileOf(file: ClaimedFile, options: ReadOptions): Promise<FileFinding> {
  const source = options.policy.sources.find((one) => one.id === file.source);
  if (source === undefined) return unreadable('The source is no longer in the configuration.');
  const repository = source.repositories.find((one) => one.fullName.toLowerCase() === file.fullName);
  if (repository !== undefined) return readByGit(source, repository, options);
  return hasCredentials(source)
    ? readByApi({ github: options.github, source, fullName: file.fullName })
    : unreadable('The repository is no longer in the configuration.');
}

async function readByGit(
  source: SourcePolicy,
  repository: RepositoryPolicy,
  options: ReadOptions,
): Promise<FileFinding> {
  const externalId = gitRepositoryId(repository.url);
  const { fullName, defaultBranch } = repository;
  const head = await new GitSourceReader({ clock: options.clock, timeoutMs: READ_TIMEOUT_MS }).readHead({
    source,
    repository: { externalId, fullName, defaultBranch },
    target: { kind: 'repository', id: externalId, ref: defaultBranch, aspect: null },
  });
  switch (head.kind) {
    case 'unavailable':
    case 'disagrees':
    case 'changed':
      return unreadable(head.detail);
    case 'issue':
      return unreadable('The source told of something else than a branch.');
    case 'closed':
      return unreadable(head.reason);
    // A repository without a commit has no file.
    case 'gone':
      return defaultBranch === null
        ? { kind: 'absent', commitSha: null }
        : unreadable(`There is no branch ${defaultBranch}.`);
    case 'head':
      return readAt(repository.url, head.sha, options);
  }
}

async function readAt(url: string, sha: string, { mirrorsDir }: ReadOptions): Promise<FileFinding> {
  const commit = await ensureCommit({ mirrorsDir, url, sha, ref: null, timeoutMs: FETCH_TIMEOUT_MS });
  if (commit.kind !== 'ready') {
    return unreadable(commit.kind === 'aborted' ? 'The read was stopped.' : commit.detail);
  }
  const found = await fileAt({
    gitDir: commit.mirror,
    sha,
    path: REPOSITORY_FILE_NAME,
    maxBytes: MAX_REPOSITORY_FILE_BYTES,
    timeoutMs: READ_TIMEOUT_MS,
  });
  switch (found.kind) {
    case 'absent':
      return { kind: 'absent', commitSha: sha };
    case 'odd':
    case 'unreadable':
      return unreadable(found.detail);
    case 'file':
      return findingOf(found.bytes, found.blobSha, sha);
  }
}
