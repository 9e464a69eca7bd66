/**
 * Policies as older versions stored them. A stored version is never rewritten: what it lacks is read as what it meant
 * when it was written, so that `rollback`, a run's own version and a running instance that is upgraded all go on.
 */
import {
  DEFAULT_RETENTION_DAYS,
  type Policy,
  type RetentionDays,
  type RoutePolicy,
  type SourcePolicy,
  type TenantPolicy,
  type TriggerOn,
} from './policy.js';
import { WIDE_SCOPE } from './routing/scope.js';

/** What may be missing. A route of before had no scope of its own: it took everything. */
type Stored<T, Added extends keyof T> = Omit<T, Added> & Partial<Pick<T, Added>>;
type Schedule = Extract<TriggerOn, { kind: 'schedule' }>;
type StoredTrigger =
  | Exclude<TriggerOn, Schedule>
  | Stored<Schedule, 'startAt' | 'endAt' | 'exclude' | 'pauseOnFailure'>;
type StoredRoute = Stored<
  Omit<RoutePolicy, 'on'>,
  'scope' | 'debounce' | 'maxOpenPullRequests' | 'repositoryFile' | 'work'
> & { readonly on: readonly StoredTrigger[] };
type StoredSource = Stored<
  SourcePolicy,
  'app' | 'token' | 'baseUrl' | 'replayWindowMs' | 'toleranceMs' | 'from' | 'scan' | 'redeliveries'
>;
type StoredTenant = Stored<TenantPolicy, 'requireApprovalFor' | 'fourEyes'>;
type StoredPolicy = Omit<Policy, 'routes' | 'sources' | 'tenants' | 'retentionDays'> & {
  readonly routes: readonly StoredRoute[];
  readonly sources: readonly StoredSource[];
  readonly tenants: readonly StoredTenant[];
  readonly retentionDays: Stored<RetentionDays, 'history'>;
};

/**
 * How a policy is stored. It grows when a field changes its meaning; a new field does not need it. A process reads every
 * format up to its own; what was written before it was noted is of the first.
 */
export const POLICY_FORMAT = 1;

/** A newer process activated a policy: this one cannot know what it forbids, so it does nothing under it. */
export class NewerPolicyError extends Error {
  override readonly name = 'NewerPolicyError';

  constructor(format: number) {
    super(
      `the active policy was written by a newer Headgate (format ${format}, this one reads ${POLICY_FORMAT}): upgrade this process, or activate an older version (headgate config rollback)`,
    );
  }
}

export const storedPolicy = (policy: Policy): unknown => ({ format: POLICY_FORMAT, ...policy });

/** Throws NewerPolicyError. */
export function readStoredPolicy(stored: unknown): Policy {
  const { format = 1, ...policy } = stored as StoredPolicy & { readonly format?: number };
  if (format > POLICY_FORMAT) throw new NewerPolicyError(format);
  const { history } = DEFAULT_RETENTION_DAYS;
  return {
    ...policy,
    sources: policy.sources.map(readSource),
    tenants: policy.tenants.map(readTenant),
    routes: policy.routes.map(readRoute),
    retentionDays: { history, ...policy.retentionDays },
  };
}

const readTenant = (tenant: StoredTenant): TenantPolicy => ({
  ...tenant,
  requireApprovalFor: tenant.requireApprovalFor ?? [],
  fourEyes: tenant.fourEyes ?? false,
});

const readRoute = (route: StoredRoute): RoutePolicy => ({
  ...route,
  on: route.on.map(readTrigger),
  work: route.work ?? null,
  scope: { ...WIDE_SCOPE, ...route.scope },
  debounce: route.debounce ?? null,
  maxOpenPullRequests: route.maxOpenPullRequests ?? null,
  repositoryFile: route.repositoryFile ?? null,
});

/** Before there were sources of other kinds: nothing but webhooks told of it, and nobody looked. */
const readSource = (source: StoredSource): SourcePolicy => ({
  ...source,
  app: source.app ?? null,
  token: source.token ?? null,
  baseUrl: source.baseUrl ?? null,
  replayWindowMs: source.replayWindowMs ?? null,
  toleranceMs: source.toleranceMs ?? STANDARD_TOLERANCE_MS,
  from: source.from ?? [],
  scan: source.scan ?? null,
  redeliveries: source.redeliveries ?? 0,
});

const STANDARD_TOLERANCE_MS = 300_000;

const readTrigger = (trigger: StoredTrigger): TriggerOn =>
  trigger.kind === 'schedule'
    ? {
        ...trigger,
        startAt: trigger.startAt ?? null,
        endAt: trigger.endAt ?? null,
        exclude: trigger.exclude ?? [],
        pauseOnFailure: trigger.pauseOnFailure ?? false,
      }
    : trigger;
