/** What a route takes: its repositories, and the filters of its events. */
import {
  type RepositoryPolicy,
  type RepositoryScope,
  type RouteScope,
  reachesRepository,
  type SourcePolicy,
  WIDE_SCOPE,
} from '@headgate/domain';
import type { RouteEntry } from '../schema/routes.js';

export interface ReachedRepository {
  readonly source: SourcePolicy;
  readonly repository: RepositoryPolicy;
}

/** The names and patterns of `repositories`, in either of its forms. */
export function repositoriesOf({ repositories }: RouteEntry): RepositoryScope {
  if (repositories === undefined) return { repositories: [], scope: WIDE_SCOPE };
  if (Array.isArray(repositories)) return { repositories, scope: WIDE_SCOPE };
  const { names = [], except = [], topics = [], properties = {} } = repositories;
  return { repositories: names, scope: { exceptRepositories: except, topics, properties } };
}

/** Forks, drafts and bots are refused on a real forge unless the route says otherwise. */
export function scopeOf(route: RouteEntry, isRealForge: boolean): RouteScope {
  const { labels } = route;
  const isList = Array.isArray(labels);
  return {
    ...repositoriesOf(route).scope,
    branches: route.branches ?? [],
    labels: {
      any: isList ? labels : (labels?.any ?? []),
      none: isList ? [] : (labels?.none ?? []),
    },
    authors: route.authors ?? [],
    associations: route.associations ?? [],
    forks: route.forks ?? !isRealForge,
    drafts: route.drafts ?? !isRealForge,
    bots: route.bots ?? !isRealForge,
  };
}

/** The declared repositories that a scope reaches; one that asks nothing reaches all of the sources. */
export function reposOf(
  asked: RepositoryScope,
  sources: readonly SourcePolicy[],
): readonly ReachedRepository[] {
  return sources.flatMap((source) =>
    source.repositories
      .filter((repository) => reachesRepository(asked, repository))
      .map((repository) => ({ source, repository })),
  );
}
