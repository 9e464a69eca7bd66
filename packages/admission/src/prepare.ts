/**
 * From submission to candidate: route it, identify its work, draw its ids. Pure but for the ids; no database.
 *
 * What cannot be decided without state stays open (verdict null) and is decided under the task's lock.
 */
import { compileTemplate, conditionEvaluator, expressionContext } from '@headgate/config';
import {
  type Candidate,
  type Ids,
  type Policy,
  quoted,
  type RoutePolicy,
  type Routing,
  routeSignal,
  type Signal,
  type TenantPolicy,
  type Verdict,
  type WorkIdentity,
} from '@headgate/domain';
import { identify } from '@headgate/sources';
import type { Submission } from './submission.js';

export interface Prepared {
  readonly submission: Submission;
  readonly candidate: Candidate;
  /** The key that limits how many runs share a resource; null where the signal names none. */
  readonly concurrency: { readonly key: string; readonly limit: number } | null;
}

const evaluate = conditionEvaluator();

export function prepare(submission: Submission, policy: Policy, ids: Ids): Prepared {
  const { signal } = submission;
  const decided = submission.verdict ?? null;
  const routing = decided === null ? routingOf(submission, policy) : null;
  const route = routing?.kind === 'route' ? routing.route : null;
  const identified = route === null ? null : workOf(submission, route);
  const verdict = decided ?? (routing?.kind === 'none' ? routing.verdict : (identified?.verdict ?? null));
  return {
    submission,
    concurrency: route === null ? null : (keptConcurrency(submission, route) ?? concurrencyOf(route, signal)),
    candidate: {
      receiptId: ids.next('rcpt'),
      runId: ids.next('run'),
      taskId: ids.next('task'),
      signal,
      tenant: tenantOf(policy, route?.tenant ?? submission.tenant),
      route,
      work: identified?.work ?? null,
      verdict,
      directive: submission.directive ?? { kind: 'none' },
      parentReceiptId: submission.promotes?.parentReceiptId ?? null,
    },
  };
}

function routingOf({ signal, again, tenant }: Submission, policy: Policy): Routing {
  if (again == null) return routeSignal(signal, policy, evaluate);
  // Of its own tenant only: a route that was given to another must not carry this tenant's work over.
  const route = policy.routes.find((one) => one.id === again.route && one.tenant === tenant);
  if (route !== undefined) return { kind: 'route', route };
  const detail = `Route ${quoted(again.route)} is no longer in the configuration.`;
  return {
    kind: 'none',
    verdict: { outcome: 'reject', reasonCode: 'NO_ROUTE', detail, retryAfter: null, rule: 'route' },
  };
}

const keptConcurrency = ({ again }: Submission, route: RoutePolicy): Prepared['concurrency'] =>
  again?.concurrencyKey == null ? null : { key: again.concurrencyKey, limit: route.concurrency?.limit ?? 1 };

function workOf(
  submission: Submission,
  route: RoutePolicy,
): { work: WorkIdentity | null; verdict: Verdict | null } {
  const { signal } = submission;
  if (submission.work != null) return { work: submission.work, verdict: null };
  const inferred = identify(signal, route);
  const written = writtenWork(route, signal, inferred.kind === 'work' ? inferred.work : null);
  if (written !== null) return written;
  if (inferred.kind === 'work') return { work: inferred.work, verdict: null };
  const { reasonCode, detail } = inferred;
  const outcome =
    reasonCode === 'HEAD_UNRESOLVED' ? 'defer' : reasonCode === 'TARGET_CLOSED' ? 'no-work' : 'reject';
  // Nothing resolves a head yet but another look at the source; until then a deferral would wait for nothing.
  return {
    work: null,
    verdict: {
      outcome: outcome === 'defer' ? 'reject' : outcome,
      reasonCode,
      detail,
      retryAfter: null,
      rule: 'work-identity',
    },
  };
}

/** A route may write its key and version itself. Null: it does not. */
function writtenWork(
  route: RoutePolicy,
  signal: Signal,
  inferred: WorkIdentity | null,
): { work: WorkIdentity | null; verdict: Verdict | null } | null {
  if (route.work === null) return null;
  const key = route.work.key === null ? { value: inferred?.workKey ?? '' } : rendered(route.work.key, signal);
  const version =
    route.work.version === null
      ? { value: inferred?.inputVersion ?? '' }
      : rendered(route.work.version, signal);
  if ('error' in key) return contractInvalid(`work.key: ${key.error}`);
  if ('error' in version) return contractInvalid(`work.version: ${version.error}`);
  return { work: { workKey: key.value, inputVersion: version.value }, verdict: null };
}

const contractInvalid = (detail: string): { work: null; verdict: Verdict } => ({
  work: null,
  verdict: {
    outcome: 'reject',
    reasonCode: 'TASK_CONTRACT_INVALID',
    detail,
    retryAfter: null,
    rule: 'route.work',
  },
});

const templates = new Map<string, ReturnType<typeof compileTemplate>>();

function rendered(source: string, signal: Signal): { value: string } | { error: string } {
  const compiled = templates.get(source) ?? compileTemplate(source);
  templates.set(source, compiled);
  return compiled.ok ? compiled.render(expressionContext(signal)) : { error: compiled.problem.message };
}

/** One run per target unless the route says otherwise: the key follows the conflicting resource (I11). */
function concurrencyOf(route: RoutePolicy, signal: Signal): Prepared['concurrency'] {
  if (route.concurrency !== null) {
    const key = rendered(route.concurrency.key, signal);
    return 'value' in key && key.value !== '' ? { key: key.value, limit: route.concurrency.limit } : null;
  }
  const { repository, target } = signal;
  if (repository === null || target === null || target.kind === 'repository') return null;
  return { key: `${repository.externalId}/${target.kind}/${target.id}`, limit: 1 };
}

function tenantOf(policy: Policy, id: string): TenantPolicy {
  const tenant = policy.tenants.find((one) => one.id === id) ?? policy.tenants[0];
  if (tenant === undefined) throw new Error('the policy names no tenant');
  return tenant;
}
