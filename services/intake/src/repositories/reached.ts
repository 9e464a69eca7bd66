/** The configured repositories that a route works on, and how a signal of our own names them. */
import {
  type Policy,
  type RepositoryPolicy,
  type RepositoryRef,
  type RoutePolicy,
  reachesRepository,
  type SourcePolicy,
  type TargetRef,
} from '@headgate/domain';
import { gitRepositoryId } from '@headgate/sources';

export interface ReachedRepository {
  readonly source: SourcePolicy;
  readonly repository: RepositoryPolicy;
}

/** Each once, in the order of the configuration. */
export function reachedBy(route: RoutePolicy, policy: Policy): readonly ReachedRepository[] {
  const { sources, tenant } = route;
  const found = policy.sources
    .filter((source) => source.tenant === tenant && (sources.length === 0 || sources.includes(source.id)))
    .flatMap((source) => source.repositories.map((repository) => ({ source, repository })))
    .filter(({ repository }) => reachesRepository(route, repository));
  return [...new Map(found.map((one) => [one.repository.url, one])).values()];
}

/** Known by where it is: a tick and a person name no forge's number. */
export const repositoryRef = ({ repository }: ReachedRepository): RepositoryRef => ({
  externalId: gitRepositoryId(repository.url),
  fullName: repository.fullName,
  defaultBranch: repository.defaultBranch,
});

/** The repository as a whole, at its default branch. */
export const wholeRepository = ({ externalId, defaultBranch }: RepositoryRef): TargetRef => ({
  kind: 'repository',
  id: externalId,
  ref: defaultBranch,
  aspect: null,
});
