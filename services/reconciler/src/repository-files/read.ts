/**
 * `.headgate.yaml` as it stands at the head of a repository's default branch, read through the bare mirror. Never from
 * a pull request, and never guessed: what cannot be read is unreadable, and not absent.
 */
import { MAX_REPOSITORY_FILE_BYTES, REPOSITORY_FILE_NAME } from '@headgate/config';
import type { Clock, Policy, RepositoryPolicy, SourcePolicy } from '@headgate/domain';
import { ensureCommit, fileAt } from '@headgate/git';
import { GitSourceReader, gitRepositoryId } from '@headgate/sources';
import type { ClaimedFile, FileFinding } from '@headgate/store';

const READ_TIMEOUT_MS = 10_000;
const FETCH_TIMEOUT_MS = 60_000;

export interface ReadOptions {
  readonly policy: Policy;
  readonly mirrorsDir: string;
  readonly clock: Clock;
}

export async function readFileOf(file: ClaimedFile, options: ReadOptions): Promise<FileFinding> {
  const configured = configuredOf(file, options.policy);
  if (configured === null) return unreadable('The repository is no longer in the configuration.');
  const { source, repository } = configured;
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
      return textOf(found.bytes, found.blobSha, sha);
  }
}

function textOf(bytes: Buffer, blobSha: string, commitSha: string): FileFinding {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (text.includes('\u0000')) return unreadable(`${REPOSITORY_FILE_NAME} holds a NUL character.`);
    return { kind: 'found', commitSha, blobSha, text };
  } catch {
    return unreadable(`${REPOSITORY_FILE_NAME} is not UTF-8 text.`);
  }
}

function configuredOf(
  { source: sourceId, fullName }: ClaimedFile,
  policy: Policy,
): { readonly source: SourcePolicy; readonly repository: RepositoryPolicy } | null {
  const source = policy.sources.find((one) => one.id === sourceId);
  const repository = source?.repositories.find((one) => one.fullName.toLowerCase() === fullName);
  return source === undefined || repository === undefined ? null : { source, repository };
}

const unreadable = (detail: string): FileFinding => ({ kind: 'unreadable', detail });
