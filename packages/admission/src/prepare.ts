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
  routeName,
  routeSignal,
  type Signal,
  type TenantPolicy,
  type Verdict,
  type WorkIdentity,
} from '@headgate/domain';
import { askedAt, causeOf, hasCredentials, identify, ownSign } from '@headgate/sources';
import { agentBranchOf, type Continued, continuedKey } from './continued.js';
import { repositoryOf, type SignalRepository } from './repository.js';
import type { Again, Submission } from './submission.js';

export interface Prepared {
  readonly submission: Submission;
  readonly candidate: Candidate;
  readonly repository: SignalRepository | null;
  /** The key that limits how many runs share a resource; null where the signal names none. */
  readonly concurrency: ConcurrencyKey | null;
  /** Two runs of its task never hold a lease at once. */
  readonly exclusiveTask: boolean;
}

export interface ConcurrencyKey {
  readonly key: string;
  readonly limit: number;
}

const evaluate = conditionEvaluator();

export function prepare(
  submission: Submission,
  policy: Policy,
  ids: Ids,
  continued: Continued = new Map(),
): Prepared {
  const { signal } = submission;
  const routed = routeOf(submission, policy);
  const { route } = routed;
  const tenant = tenantOf(policy, route?.tenant ?? submission.tenant);
  const repository = repositoryOf(signal, tenant.id, policy);
  const isResolvable = submission.promotes == null && canRead(signal, policy);
  const plan =
    routed.verdict === null && route !== null ? planOf(submission, route, repository, isResolvable) : null;
  return {
    submission,
    repository,
    concurrency: plan?.concurrency ?? null,
    exclusiveTask: submission.beside?.exclusive ?? route?.onNewVersion !== 'allow',
    candidate: {
      receiptId: ids.next('rcpt'),
      runId: ids.next('run'),
      taskId: ids.next('task'),
      signal,
      tenant,
      route,
      work: continuing(plan?.work ?? null, signal, tenant.id, continued),
      verdict: routed.verdict ?? plan?.verdict ?? null,
      directive: submission.directive ?? { kind: 'none' },
      parentReceiptId: submission.promotes?.parentReceiptId ?? null,
      cause: causeOf(signal),
      ...(policy.loopGuard === undefined ? {} : { guard: policy.loopGuard }),
      // What we said ourselves asks for nothing, and is remembered as no command.
      asked: routed.verdict?.reasonCode === 'SELF_TRIGGERED' ? null : askedAt(signal),
    },
  };
}

/** The version stays the signal's own; the work is the one whose branch it is about. */
function continuing(
  work: WorkIdentity | null,
  signal: Signal,
  tenant: string,
  continued: Continued,
): WorkIdentity | null {
  const branch = agentBranchOf(signal);
  const workKey = branch === null ? undefined : continued.get(continuedKey(tenant, branch));
  return work === null || workKey === undefined ? work : { ...work, workKey };
}

/** A refused signal that names its route (a tick, a person) keeps that name on its receipt. */
function routeOf(
  submission: Submission,
  policy: Policy,
): { readonly route: RoutePolicy | null; readonly verdict: Verdict | null } {
  const { signal, tenant } = submission;
  const verdict = submission.verdict ?? null;
  if (verdict === null && submission.again != null) return routeAgain(submission, submission.again, policy);
  if (verdict === null) {
    const own = ownDoing(signal, policy);
    if (own !== null) return { route: null, verdict: own };
    const routing = routeSignal(signal, policy, evaluate);
    if (routing.kind === 'route') return { route: adjusted(routing.route, submission), verdict: null };
    return { route: namedRoute(signal, tenant, policy), verdict: routing.verdict };
  }
  return { route: namedRoute(signal, tenant, policy), verdict };
}

/** Before any route is asked: what we did ourselves is nobody's request (replay claude-code-action #611). */
function ownDoing(signal: Signal, policy: Policy): Verdict | null {
  const self = policy.sources.find((source) => source.id === signal.source)?.self;
  const sign = ownSign(signal, self);
  if (sign === null) return null;
  const { rule, detail } = sign;
  return { outcome: 'reject', reasonCode: 'SELF_TRIGGERED', detail, retryAfter: null, rule };
}

/** Of its own tenant only: a route that was given to another must not carry this tenant's work over. */
function routeAgain(
  submission: Submission,
  again: Again,
  policy: Policy,
): { readonly route: RoutePolicy | null; readonly verdict: Verdict | null } {
  const found = policy.routes.find((one) => one.id === again.route && one.tenant === submission.tenant);
  if (found !== undefined) return { route: adjusted(found, submission), verdict: null };
  const detail = `Route ${quoted(again.route)} is no longer in the configuration.`;
  return {
    route: null,
    verdict: { outcome: 'reject', reasonCode: 'NO_ROUTE', detail, retryAfter: null, rule: 'route' },
  };
}

function namedRoute(signal: Signal, tenant: string, policy: Policy): RoutePolicy | null {
  const name = routeName(signal);
  return policy.routes.find((route) => route.id === name && route.tenant === tenant) ?? null;
}

const adjusted = (route: RoutePolicy, { beside, headStartSeconds }: Submission): RoutePolicy => ({
  ...route,
  onNewVersion: beside?.onNewVersion ?? route.onNewVersion,
  headStartSeconds: headStartSeconds ?? route.headStartSeconds,
});

interface WorkPlan {
  readonly work: WorkIdentity | null;
  readonly verdict: Verdict | null;
  readonly concurrency: ConcurrencyKey | null;
}

/** Whether what a payload leaves out can be read at its source. */
const canRead = (signal: Signal, policy: Policy): boolean => {
  const source = policy.sources.find((one) => one.id === signal.source);
  return source !== undefined && hasCredentials(source);
};

function planOf(
  submission: Submission,
  route: RoutePolicy,
  repository: SignalRepository | null,
  isResolvable: boolean,
): WorkPlan {
  if (submission.observe != null && submission.work != null) {
    return { work: submission.work, verdict: null, concurrency: null };
  }
  const kept = keptConcurrency(submission, route);
  const concurrency = kept === null ? concurrencyOf(route, submission.signal, repository) : { key: kept };
  if ('error' in concurrency) return refused('concurrency.key', concurrency.error);
  if (submission.work != null) return { work: submission.work, verdict: null, concurrency: concurrency.key };
  return { ...workOf(submission.signal, route, isResolvable), concurrency: concurrency.key };
}

const keptConcurrency = ({ again }: Submission, route: RoutePolicy): ConcurrencyKey | null =>
  again?.concurrencyKey == null ? null : { key: again.concurrencyKey, limit: route.concurrency?.limit ?? 1 };

/**
 * Which work a signal asks of a route. What a person names wins over the route's templates, and those over what the
 * kind of event implies.
 */
export function workOf(
  signal: Signal,
  route: RoutePolicy,
  isResolvable = false,
): { readonly work: WorkIdentity | null; readonly verdict: Verdict | null } {
  const key = writtenPart(route.work?.key ?? null, signal);
  if ('error' in key) return refused('work.key', key.error);
  const version = writtenPart(route.work?.version ?? null, signal);
  if ('error' in version) return refused('work.version', version.error);
  const identified = identify(signal, route, { key: key.value, version: version.value });
  if (identified.kind === 'work') return { work: identified.work, verdict: null };
  const { reasonCode, detail } = identified;
  const rule = 'work-identity';
  if (reasonCode === 'HEAD_UNRESOLVED' && isResolvable) {
    // Due at once: the reconciler reads what is missing, since nobody is asked before the answer.
    return {
      work: null,
      verdict: { outcome: 'defer', reasonCode, detail, retryAfter: new Date(signal.receivedAt), rule },
    };
  }
  const outcome = reasonCode === 'TARGET_CLOSED' ? 'no-work' : 'reject';
  return { work: null, verdict: { outcome, reasonCode, detail, retryAfter: null, rule } };
}

const refused = (what: string, problem: string): WorkPlan => ({
  work: null,
  concurrency: null,
  verdict: {
    outcome: 'reject',
    reasonCode: 'TASK_CONTRACT_INVALID',
    detail: `${what}: ${problem}`,
    retryAfter: null,
    rule: `route.${what}`,
  },
});

const writtenPart = (
  template: string | null,
  signal: Signal,
): { readonly value: string | null } | { readonly error: string } =>
  template === null ? { value: null } : rendered(template, signal);

/** Compiled templates, by their text: a configuration has few, and signals are many. */
const templates = new Map<string, ReturnType<typeof compileTemplate>>();
const REMEMBERED = 1_000;

function rendered(source: string, signal: Signal): { value: string } | { error: string } {
  let compiled = templates.get(source);
  if (compiled === undefined) {
    if (templates.size >= REMEMBERED) templates.clear();
    compiled = compileTemplate(source);
    templates.set(source, compiled);
  }
  return compiled.ok ? compiled.render(expressionContext(signal)) : { error: compiled.problem.message };
}

/**
 * One run per target unless the route says otherwise: the key follows the conflicting resource (I11). A key that
 * cannot be made protects nothing, so the work is refused; an empty one says that nothing is shared.
 */
function concurrencyOf(
  route: RoutePolicy,
  signal: Signal,
  repository: SignalRepository | null,
): { readonly key: ConcurrencyKey | null } | { readonly error: string } {
  if (route.concurrency !== null) {
    const key = rendered(route.concurrency.key, signal);
    if ('error' in key) return key;
    return { key: key.value === '' ? null : { key: key.value, limit: route.concurrency.limit } };
  }
  const { target } = signal;
  if (repository === null || target === null || target.kind === 'repository') return { key: null };
  return { key: { key: `${repository.identity}/${target.kind}/${target.id}`, limit: 1 } };
}

/** A tenant that left the configuration keeps its signals, and gets no work done. */
function tenantOf(policy: Policy, id: string): TenantPolicy {
  return (
    policy.tenants.find((one) => one.id === id) ?? {
      id,
      weight: 1,
      timezone: 'UTC',
      suspended: true,
      maxActive: 0,
      maxQueued: null,
    }
  );
}
