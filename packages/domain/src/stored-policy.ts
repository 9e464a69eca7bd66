/**
 * Policies as older versions stored them. A stored version is never rewritten: what it lacks is read as what it meant
 * when it was written, so that `rollback`, a run's own version and a running instance that is upgraded all go on.
 */
import type { Policy, RoutePolicy, TenantPolicy } from './policy.js';
import { WIDE_SCOPE } from './routing/scope.js';

/** What may be missing. A route of before had no scope of its own: it took everything. */
type Stored<T, Added extends keyof T> = Omit<T, Added> & Partial<Pick<T, Added>>;
type StoredRoute = Stored<
  RoutePolicy,
  'scope' | 'debounce' | 'maxOpenPullRequests' | 'repositoryFile' | 'work'
>;
type StoredTenant = Stored<TenantPolicy, 'requireApprovalFor' | 'fourEyes'>;
type StoredPolicy = Omit<Policy, 'routes' | 'tenants'> & {
  readonly routes: readonly StoredRoute[];
  readonly tenants: readonly StoredTenant[];
};

export function readStoredPolicy(stored: unknown): Policy {
  const policy = stored as StoredPolicy;
  return { ...policy, tenants: policy.tenants.map(readTenant), routes: policy.routes.map(readRoute) };
}

const readTenant = (tenant: StoredTenant): TenantPolicy => ({
  ...tenant,
  requireApprovalFor: tenant.requireApprovalFor ?? [],
  fourEyes: tenant.fourEyes ?? false,
});

const readRoute = (route: StoredRoute): RoutePolicy => ({
  ...route,
  work: route.work ?? null,
  scope: { ...WIDE_SCOPE, ...route.scope },
  debounce: route.debounce ?? null,
  maxOpenPullRequests: route.maxOpenPullRequests ?? null,
  repositoryFile: route.repositoryFile ?? null,
});
