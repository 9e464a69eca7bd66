/** Which repositories can be looked at, and for what. Pure. */
import { matchesRepository, type Policy, type RepositoryPolicy, type SourcePolicy } from '@headgate/domain';

export interface LookTarget {
  readonly source: SourcePolicy;
  readonly repository: RepositoryPolicy;
  /** Event types that somebody listens to: `github.check_run.completed`. */
  readonly listened: readonly string[];
}

/** Those that somebody listens to: looking for what nobody wants would cost and find nothing. */
export function lookTargets(policy: Policy): readonly LookTarget[] {
  return policy.sources.filter(canBeLookedAt).flatMap((source) =>
    source.repositories.flatMap((repository) => {
      const listened = listenedIn(policy, source, repository.fullName);
      return listened.length === 0 ? [] : [{ source, repository, listened }];
    }),
  );
}

/** The other kinds only tell. */
const canBeLookedAt = ({ kind }: SourcePolicy): boolean => kind === 'github' || kind === 'git';

function listenedIn({ routes }: Policy, source: SourcePolicy, fullName: string): readonly string[] {
  const word = `${source.kind}.`;
  const types = routes
    .filter((route) => route.tenant === source.tenant)
    .filter((route) => route.sources.length === 0 || route.sources.includes(source.id))
    .filter(
      (route) =>
        route.repositories.length === 0 ||
        route.repositories.some((pattern) => matchesRepository(pattern, fullName)),
    )
    .flatMap((route) => route.on.flatMap((on) => (on.kind === 'event' ? [on.type] : [])))
    .filter((type) => type.startsWith(word));
  return [...new Set(types)];
}
