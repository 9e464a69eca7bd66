/** What a schedule works on: each repository of its route at its head, or nothing in particular. */
import type { Policy, RepositoryRef, RoutePolicy } from '@headgate/domain';
import type { Heads } from '../repositories/heads.js';
import { reachedBy, repositoryRef, wholeRepository } from '../repositories/reached.js';

export interface ScheduleTarget {
  /** Names it among the schedule's targets; '' where there is no repository. */
  readonly key: string;
  readonly repository: RepositoryRef | null;
  readonly head: TargetHead;
}

export type TargetHead =
  | { readonly kind: 'head'; readonly sha: string }
  /** No repository: the nominal time is the version. */
  | { readonly kind: 'none' }
  /** There is nothing to read: an empty repository, a branch that is gone. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'unavailable'; readonly detail: string };

/** Reads every head, outside any transaction; each within the reader's bound. */
export async function readTargets(
  route: RoutePolicy | null,
  policy: Policy,
  heads: Heads,
): Promise<readonly ScheduleTarget[]> {
  const reached = route === null ? [] : reachedBy(route, policy);
  if (reached.length === 0) return [{ key: '', repository: null, head: { kind: 'none' } }];
  return Promise.all(
    reached.map(async (one): Promise<ScheduleTarget> => {
      const repository = repositoryRef(one);
      const reading = await heads.read(one, repository, wholeRepository(repository));
      const key = repository.externalId;
      switch (reading.kind) {
        case 'head':
          return { key, repository, head: { kind: 'head', sha: reading.sha } };
        case 'unavailable':
        case 'disagrees':
          return { key, repository, head: { kind: 'unavailable', detail: reading.detail } };
        case 'closed':
        case 'gone':
        // Not of a repository as a whole.
        case 'issue':
        case 'changed':
          return { key, repository, head: { kind: 'missing' } };
      }
    }),
  );
}

/** A schedule none of whose repositories can be read waits: no tick of it would know its version. */
export const canReadNone = (targets: readonly ScheduleTarget[]): boolean =>
  targets.every((target) => target.head.kind === 'unavailable');
