import { matchesRepository, type RepositoryPolicy, type SourcePolicy } from '@headgate/domain';

export interface ReachedRepository {
  readonly source: SourcePolicy;
  readonly repository: RepositoryPolicy;
}

/** The declared repositories that the patterns reach; without patterns, all of the sources. */
export function reposOf(
  patterns: readonly string[],
  sources: readonly SourcePolicy[],
): readonly ReachedRepository[] {
  return sources.flatMap((source) =>
    source.repositories
      .filter(
        ({ fullName }) =>
          patterns.length === 0 || patterns.some((pattern) => matchesRepository(pattern, fullName)),
      )
      .map((repository) => ({ source, repository })),
  );
}
