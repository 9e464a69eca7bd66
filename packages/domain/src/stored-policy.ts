/**
 * Policies as older versions stored them. A stored version is never rewritten: what it lacks is read as what it meant
 * when it was written, so that `rollback`, a run's own version and a running instance that is upgraded all go on.
 */
import type { Policy, RoutePolicy } from './policy.js';
import { WIDE_SCOPE } from './routing/scope.js';

/** What may be missing. A route of before had no scope of its own: it took everything. */
type Stored<T, Added extends keyof T> = Omit<T, Added> & Partial<Pick<T, Added>>;
type StoredRoute = Stored<
  RoutePolicy,
  'scope' | 'debounce' | 'maxOpenPullRequests' | 'repositoryFile' | 'work'
>;
type StoredPolicy = Omit<Policy, 'routes'> & { readonly routes: readonly StoredRoute[] };

export function readStoredPolicy(stored: unknown): Policy {
  const policy = stored as StoredPolicy;
  return { ...policy, routes: policy.routes.map(readRoute) };
}

const readRoute = (route: StoredRoute): RoutePolicy => ({
  ...route,
  work: route.work ?? null,
  scope: { ...WIDE_SCOPE, ...route.scope },
  debounce: route.debounce ?? null,
  maxOpenPullRequests: route.maxOpenPullRequests ?? null,
  repositoryFile: route.repositoryFile ?? null,
});
