/**
 * What a plain event says about the work: repository, target, version, under names that anybody can write.
 *
 *   repository    "owner/name", or an object with full_name, fullName or name; else the source's only repository
 *   pullRequest, issue, branch    the target; else the default branch, else the repository as a whole
 *   commit, sha   the input version; else each event is a version of its own
 */
import type { RepositoryRef, Signal, SourcePolicy, TargetRef } from '@headgate/domain';
import { gitRepositoryId, isBranchName } from '../git/location.js';
import { at, commitAt, textAt } from '../github/fields.js';

type Place = Pick<
  Signal,
  'repository' | 'target' | 'inputVersion' | 'sourceAt' | 'subject' | 'parentVersions'
>;

export interface PlainEvent {
  readonly source: SourcePolicy;
  readonly data: unknown;
  /** What it is about beside the target: its type, and its subject if it has one. */
  readonly aspect: string;
  readonly eventId: string;
  readonly emittedAt: Date | null;
}

export function placeOf({ source, data, aspect, eventId, emittedAt }: PlainEvent): Place {
  const repository = repositoryOf(source, data);
  const commit = commitAt(data, 'commit') ?? commitAt(data, 'sha');
  const target = repository === null ? null : targetOf(repository, data, aspect);
  return {
    repository,
    target,
    subject: repository?.fullName ?? null,
    inputVersion: commit ?? `event:${eventId}`,
    // Commits are not ordered by when somebody spoke of them; events are.
    sourceAt: commit === null ? emittedAt : null,
    parentVersions: [],
  };
}

const NAME = /^[A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)*$/;

function repositoryOf({ repositories }: SourcePolicy, data: unknown): RepositoryRef | null {
  const written = textAt(data, 'repository') ?? nameIn(at(data, 'repository'));
  const [only] = repositories.length === 1 ? repositories : [];
  if (written === null) return only === undefined ? null : configured(only);
  const found = repositories.find((it) => it.fullName.toLowerCase() === written.toLowerCase());
  if (found !== undefined) return configured(found);
  if (written.length > 200 || !NAME.test(written)) return null;
  return { externalId: `name:${written.toLowerCase()}`, fullName: written, defaultBranch: null };
}

const configured = (one: SourcePolicy['repositories'][number]): RepositoryRef => ({
  externalId: gitRepositoryId(one.url),
  fullName: one.fullName,
  defaultBranch: one.defaultBranch,
});

const nameIn = (value: unknown): string | null =>
  textAt(value, 'full_name') ?? textAt(value, 'fullName') ?? textAt(value, 'name');

function targetOf(repository: RepositoryRef, data: unknown, aspect: string): TargetRef {
  const pull = numberAt(data, 'pullRequest');
  const branch = textAt(data, 'branch');
  const named = branch !== null && isBranchName(branch) ? branch : null;
  if (pull !== null) return { kind: 'pull_request', id: pull, ref: named, aspect };
  const issue = numberAt(data, 'issue');
  if (issue !== null) return { kind: 'issue', id: issue, ref: null, aspect };
  const ref = named ?? repository.defaultBranch;
  return ref === null
    ? { kind: 'repository', id: repository.externalId, ref: null, aspect }
    : { kind: 'branch', id: ref, ref, aspect };
}

function numberAt(data: unknown, name: string): string | null {
  const value = at(data, name);
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? String(value) : null;
}
