/**
 * From submission to candidates, one for each route that takes it: routed, identified, with its ids drawn. Pure but for
 * the ids; no database.
 *
 * What cannot be decided without state stays open (verdict null) and is decided under the task's lock.
 */
import { conditionEvaluator, type PromptValues } from '@headgate/config';
import {
  type Candidate,
  type Ids,
  type Policy,
  quoted,
  type ReasonCode,
  type RepositoryFileKey,
  type RoutePolicy,
  routeName,
  routeSignal,
  type Signal,
  type SignalReaders,
  type TenantPolicy,
  type Verdict,
  type WorkIdentity,
} from '@headgate/domain';
import { askedAt, causeOf, eventFactsOf, hasCredentials, heardAs, ownSign } from '@headgate/sources';
import { agentBranchOf, type Continued, continuedKey } from './continued.js';
import { type ConcurrencyKey, planOf } from './plan-work.js';
import { isFileReadable, repositoryOf, type SignalRepository } from './repository.js';
import type { Again, Submission } from './submission.js';
import { onlyWakes, wakeOf } from './wake.js';

export interface Prepared {
  readonly submission: Submission;
  readonly candidate: Candidate;
  readonly repository: SignalRepository | null;
  /** The key that limits how many runs share a resource; null where the signal names none. */
  readonly concurrency: ConcurrencyKey | null;
  /** What the templates of its prompt were filled with. */
  readonly promptValues: PromptValues;
  /** Two runs of its task never hold a lease at once. */
  readonly exclusiveTask: boolean;
  /** The `.headgate.yaml` that has a say in it; null = none is asked. */
  readonly file: AskedFile | null;
  /** Its payload only wakes: it says nothing yet. */
  readonly isWake: boolean;
}

export interface AskedFile {
  readonly source: string;
  readonly fullName: string;
  /** Its row, where there is one. */
  readonly fileId: number | null;
  /** The blob that narrowed the route; null = there is no such file, or it could not be asked. */
  readonly blobSha: string | null;
  /** It has to be read first. */
  readonly isRequested: boolean;
  /** What it wants to add and the route does not allow. */
  readonly leftOut: readonly RepositoryFileKey[];
}

/** How signals are read, for every decision the same. */
export const SIGNAL_READERS: SignalReaders = { evaluate: conditionEvaluator(), factsOf: eventFactsOf };

/** At least one; the first stands for the delivery. */
export function prepare(
  submission: Submission,
  policy: Policy,
  ids: Ids,
  continued: Continued = new Map(),
): readonly Prepared[] {
  return routesOf(submission, policy).map((routed, at) =>
    prepareOne({ submission, routed, isFurtherRoute: at > 0, policy, ids, continued }),
  );
}

interface PrepareParts {
  readonly submission: Submission;
  readonly routed: Routed;
  readonly isFurtherRoute: boolean;
  readonly policy: Policy;
  readonly ids: Ids;
  readonly continued: Continued;
}

interface Routed {
  readonly route: RoutePolicy | null;
  readonly verdict: Verdict | null;
  readonly isWake?: boolean;
}

function prepareOne({ submission, routed, isFurtherRoute, policy, ids, continued }: PrepareParts): Prepared {
  const { route, verdict, isWake = false } = routed;
  const { signal } = submission;
  const isReplay = submission.replays != null;
  const tenant = tenantOf(policy, route?.tenant ?? submission.tenant);
  const repository = isWake ? null : repositoryOf(signal, tenant.id, policy);
  const isResolvable = isToBeRead(submission, policy);
  const plan =
    verdict === null && route !== null ? planOf(submission, route, repository, isResolvable) : null;
  const isOpen = verdict === null && (plan?.verdict ?? null) === null;
  const isLook = submission.observe != null;
  // What we said ourselves asks for nothing, and is remembered as no command; a comment is heard once, whoever takes it,
  // and who replays it is answered here.
  const isSilent = isFurtherRoute || isWake || isReplay || verdict?.reasonCode === 'SELF_TRIGGERED';
  const asked = isSilent ? null : askedAt(signal);
  return {
    submission,
    repository,
    concurrency: plan?.concurrency ?? null,
    promptValues: plan?.prompt.values ?? {},
    exclusiveTask: submission.beside?.exclusive ?? route?.onNewVersion !== 'allow',
    // A look at the world runs no agent: a repository has no say in it.
    file: isOpen && !isLook ? askedFile(route, repository, policy) : null,
    isWake,
    candidate: {
      receiptId: ids.next('rcpt'),
      runId: ids.next('run'),
      taskId: ids.next('task'),
      deferredId: ids.next('dfr'),
      signal,
      // A look at the world runs no agent: there is nothing for a person to agree to.
      tenant: isLook ? { ...tenant, requireApprovalFor: [] } : tenant,
      route: route === null || plan === null ? route : { ...route, prompt: plan.prompt.text },
      work: continuing(plan?.work ?? null, signal, tenant.id, continued),
      verdict: verdict ?? plan?.verdict ?? null,
      directive: submission.directive ?? { kind: 'none' },
      parentReceiptId: submission.promotes?.parentReceiptId ?? null,
      isWoken: submission.promotes?.wake === 'read',
      isFurtherRoute,
      isDebounced: hasWaitedForMore(submission),
      repository: repository === null || isLook ? null : `${tenant.id}\u0000${repository.identity}`,
      cause: isWake ? null : causeOf(signal),
      ...(policy.loopGuard === undefined ? {} : { guard: policy.loopGuard }),
      asked,
      heardAs: isSilent || (route === null && asked === null) ? null : heardAs(signal),
    },
  };
}

/** Whether what a payload leaves out is read at its source: once, and where that can be asked. */
function isToBeRead({ signal, promotes }: Submission, policy: Policy): boolean {
  if (promotes != null) return false;
  const source = policy.sources.find((one) => one.id === signal.source);
  return source !== undefined && hasCredentials(source);
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

/** Reasons to wait before it was known which work is meant: what waited for them has not waited for more signals. */
const BEFORE_WORK: readonly ReasonCode[] = [
  'REPOSITORY_CONFIG_PENDING',
  'REPOSITORY_CONFIG_INVALID',
  'HEAD_UNRESOLVED',
  'SOURCE_UNAVAILABLE',
  'SOURCE_DISAGREES',
];

/** Only events come in bursts: a tick and a person mean what they say. */
const hasWaitedForMore = ({ signal, promotes, replays }: Submission): boolean =>
  signal.trigger !== 'event' ||
  replays != null ||
  (promotes != null && !BEFORE_WORK.includes(promotes.reasonCode));

function askedFile(
  route: RoutePolicy | null,
  repository: SignalRepository | null,
  policy: Policy,
): AskedFile | null {
  if (route === null || route.repositoryFile === null) return null;
  if (repository === null || !isFileReadable(repository, policy)) return null;
  const { source, fullName } = repository;
  return { source, fullName, fileId: null, blobSha: null, isRequested: false, leftOut: [] };
}

/** A refused signal that names its route (a tick, a person) keeps that name on its receipt. */
function routesOf(submission: Submission, policy: Policy): readonly Routed[] {
  const { signal, tenant, promotes, replays } = submission;
  const verdict = submission.verdict ?? null;
  if (verdict !== null) {
    const isWake = promotes?.wake === 'unread';
    return [{ route: namedRoute(signal, tenant, policy), verdict, isWake }];
  }
  if (submission.again != null) return [routeAgain(submission, submission.again, policy)];
  if (onlyWakes(submission, policy)) return [wakeOf(signal, policy)];
  const own = ownDoing(signal, policy);
  if (own !== null) return [{ route: null, verdict: own }];
  const routing = routeSignal(signal, policy, SIGNAL_READERS, promotes?.route ?? replays?.route ?? null);
  if (routing.kind === 'none') {
    return [{ route: namedRoute(signal, tenant, policy), verdict: routing.verdict }];
  }
  // One receipt waited, so one decides; of several routes the first, where none was kept with it. What woke decides all.
  const taking = promotes == null || promotes.wake === 'read' ? routing.routes : routing.routes.slice(0, 1);
  return taking.map((route) => ({ route: adjusted(route, submission), verdict: null }));
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
function routeAgain(submission: Submission, again: Again, policy: Policy): Routed {
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
      requireApprovalFor: [],
      fourEyes: false,
    }
  );
}
