/** Which repositories are looked at, and for what. Pure. */
import {
  matchesRepository,
  type Policy,
  type RepositoryPolicy,
  type ScanPolicy,
  type SourcePolicy,
} from '@headgate/domain';
import type { ActivePolicy, WatermarkKey } from '@headgate/store';

export interface ScanTarget {
  readonly key: WatermarkKey;
  readonly source: SourcePolicy;
  readonly repository: RepositoryPolicy;
  readonly scan: ScanPolicy;
  readonly listened: readonly string[];
}

/** Those that somebody listens to: looking for what nobody wants would cost and find nothing. */
export function scanTargets({ policy, tenantIds }: ActivePolicy): readonly ScanTarget[] {
  return policy.sources.flatMap((source) => {
    const { scan } = source;
    const tenantId = tenantIds.get(source.tenant);
    if (scan == null || tenantId === undefined) return [];
    return source.repositories.flatMap((repository) => {
      const listened = listenedIn(policy, source, repository.fullName);
      const key = { tenantId, source: source.id, repository: repository.fullName };
      return listened.length === 0 ? [] : [{ key, source, repository, scan, listened }];
    });
  });
}

function listenedIn({ routes }: Policy, source: SourcePolicy, fullName: string): readonly string[] {
  const word = source.kind === 'git' ? 'git.' : 'github.';
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

/** Whether a route of the source's tenant wants any event of this name. */
export const listensToEvent = ({ routes }: Policy, source: SourcePolicy, event: string): boolean =>
  routes
    .filter((route) => route.tenant === source.tenant)
    .filter((route) => route.sources.length === 0 || route.sources.includes(source.id))
    .some((route) =>
      route.on.some((on) => on.kind === 'event' && (on.type === event || on.type.startsWith(`${event}.`))),
    );

export const keyText = ({ tenantId, source, repository }: WatermarkKey): string =>
  `${tenantId} ${source} ${repository}`;
