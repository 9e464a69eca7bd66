/** Which repositories a route reaches: by name, pattern, topic and property. The same for events, ticks and people. */
import { matchesRepository } from '../glob.js';
import type { RepositoryPolicy, RouteScope } from '../policy.js';
import { quoted } from '../sentences.js';

/** What is asked whose repositories are looked for. */
export interface RepositoryScope {
  readonly repositories: readonly string[];
  readonly scope: Pick<RouteScope, 'exceptRepositories' | 'topics' | 'properties'>;
}

/** A repository as far as it is known; null = not told. */
export interface RepositoryTraits {
  readonly fullName: string;
  readonly topics: readonly string[] | null;
  readonly properties: Readonly<Record<string, string>> | null;
}

/** A scope that asks nothing. */
export const WIDE_SCOPE: RouteScope = {
  exceptRepositories: [],
  topics: [],
  properties: {},
  branches: [],
  labels: { any: [], none: [] },
  authors: [],
  associations: [],
  forks: true,
  drafts: true,
  bots: true,
};

export const asksForRepository = ({ repositories, scope }: RepositoryScope): boolean =>
  repositories.length > 0 ||
  scope.exceptRepositories.length > 0 ||
  scope.topics.length > 0 ||
  Object.keys(scope.properties).length > 0;

/** Null: the scope takes it; else what stands in the way. A trait that nobody told is not there. */
export function repositoryObstacle(asked: RepositoryScope, traits: RepositoryTraits): string | null {
  const { repositories, scope } = asked;
  const { fullName } = traits;
  const isNamed = (patterns: readonly string[]): boolean =>
    patterns.some((pattern) => matchesRepository(pattern, fullName));
  if (repositories.length > 0 && !isNamed(repositories)) return `repository ${quoted(fullName)}`;
  if (isNamed(scope.exceptRepositories)) return `repository ${quoted(fullName)}, which is excepted`;
  if (scope.topics.length > 0) {
    const topics = traits.topics;
    if (topics === null) return `repository ${quoted(fullName)}, whose topics are not known`;
    if (!scope.topics.some((topic) => topics.includes(topic))) {
      return `repository ${quoted(fullName)}, which has none of the topics ${scope.topics.join(', ')}`;
    }
  }
  for (const [name, wanted] of Object.entries(scope.properties)) {
    const found = traits.properties?.[name];
    if (found === wanted) continue;
    const is = found === undefined ? 'not known' : quoted(found);
    return `repository ${quoted(fullName)}, whose property ${quoted(name)} is ${is}`;
  }
  return null;
}

/** Whether a route reaches a configured repository, by what the configuration says of it. */
export const reachesRepository = (
  asked: RepositoryScope,
  repository: Pick<RepositoryPolicy, 'fullName' | 'topics' | 'properties'>,
): boolean => repositoryObstacle(asked, declaredTraits(repository)) === null;

export const declaredTraits = ({
  fullName,
  topics,
  properties,
}: Pick<RepositoryPolicy, 'fullName' | 'topics' | 'properties'>): RepositoryTraits => ({
  fullName,
  topics: topics ?? null,
  properties: properties ?? null,
});
