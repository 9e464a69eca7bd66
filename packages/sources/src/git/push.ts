/** A branch that stands at another commit than before, as a signal. */
import type { RepositoryPolicy, Signal, SourcePolicy } from '@headgate/domain';
import { envelopeOf } from '../kinds/envelope.js';
import { gitRepositoryId } from './location.js';

export interface MovedBranch {
  readonly source: SourcePolicy;
  readonly repository: RepositoryPolicy;
  readonly branch: string;
  readonly sha: string;
  /** Where it stood when it was looked at before; null: it is new. */
  readonly before: string | null;
  readonly seenAt: Date;
}

export const GIT_PUSH = 'git.push';

export function pushOf({ source, repository, branch, sha, before, seenAt }: MovedBranch): Signal {
  const externalId = gitRepositoryId(repository.url);
  return envelopeOf(
    { source, receivedAt: seenAt, traceparent: null },
    {
      eventId: `${externalId}/branch/${branch}@${sha}`,
      type: GIT_PUSH,
      via: 'poll',
      subject: `${repository.fullName}@${branch}`,
      repository: { externalId, fullName: repository.fullName, defaultBranch: repository.defaultBranch },
      target: { kind: 'branch', id: branch, ref: branch, aspect: null },
      inputVersion: sha,
      parentVersions: before === null ? [] : [before],
      data: { ref: `refs/heads/${branch}`, before, after: sha, repository: repository.fullName },
    },
  );
}
