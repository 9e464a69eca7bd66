/** What is done with a dispatched run before any lease: start it, end it, let it wait, or leave it to others. Pure. */
import {
  type Capabilities,
  match,
  missingInWords,
  order,
  type Policy,
  type ReasonCode,
  type RepositoryRef,
  type RunClaim,
  type RunSpec,
  type SourcePolicy,
  type TargetRef,
} from '@headgate/domain';
import { type Freshness, freshness, type HeadReading, type PermissionReading } from '@headgate/sources';
import type { DispatchedRun, LiveWorker, PreLeaseVerdict } from '@headgate/store';
import { needsIsolation, requiredBy } from '../queues.js';
import { permission } from './permission.js';

/** What the policy and this worker's abilities say, before the source is asked. */
export type FirstLook =
  /** Ask the source where the target stands. */
  | {
      readonly kind: 'read';
      readonly source: SourcePolicy;
      readonly repository: RepositoryRef;
      readonly target: TargetRef;
      readonly claim: RunClaim | null;
    }
  | { readonly kind: 'verdict'; readonly verdict: PreLeaseVerdict }
  /** Only a worker with other abilities can run it. */
  | { readonly kind: 'incapable'; readonly reasonCode: ReasonCode; readonly detail: string };

export function firstLook(run: DispatchedRun, policy: Policy, offered: Capabilities): FirstLook {
  const { spec } = run;
  const allowed = permission(spec, run.source, policy);
  if (allowed.kind === 'denied') {
    const { reasonCode, detail } = allowed;
    return { kind: 'verdict', verdict: { kind: 'end', to: 'POLICY_DENIED', reasonCode, detail } };
  }
  const fit = match(requiredBy(spec), offered);
  if (!fit.ok) {
    const isIsolation =
      needsIsolation(spec) && fit.missing.every(({ name }) => name === 'agentRuns' || name === 'networkList');
    return isIsolation
      ? { kind: 'incapable', reasonCode: 'NO_ISOLATION', detail: mending(offered) }
      : { kind: 'incapable', reasonCode: 'NO_CAPABLE_WORKER', detail: missingInWords(fit.missing) };
  }
  if (spec.repository === null || allowed.source === null) {
    return { kind: 'verdict', verdict: { kind: 'fresh' } };
  }
  const { externalId, fullName, defaultBranch } = spec.repository;
  return {
    kind: 'read',
    source: allowed.source,
    repository: { externalId, fullName, defaultBranch },
    claim: spec.claim ?? null,
    target: spec.target ?? { kind: 'repository', id: externalId, ref: null, aspect: null },
  };
}

/** Why this worker cannot isolate, as the one command that mends it. */
function mending({ isolationRemedy }: Capabilities): string {
  return typeof isolationRemedy === 'string'
    ? `To mend it on the worker that looked: ${isolationRemedy}`
    : '`headgate doctor` on the worker names the command that mends it.';
}

export interface SourceWait {
  readonly firstMs: number;
  readonly capMs: number;
  /** How often this run has waited for its source before. */
  readonly times: number;
  /** With so many waits a source that contradicts itself has had its time. */
  readonly most?: number;
}

/** The verdict once the source has answered, or has not. */
export function verdictOf(run: DispatchedRun, head: HeadReading, wait: SourceWait): PreLeaseVerdict {
  const question = { target: run.spec.target, inputVersion: run.inputVersion, isSealed: run.sealed };
  const found: Freshness = freshness(question, head);
  switch (found.kind) {
    case 'fresh':
      return { kind: 'fresh' };
    case 'unavailable':
      if (found.reasonCode === 'SOURCE_DISAGREES' && wait.times >= (wait.most ?? Number.POSITIVE_INFINITY)) {
        const detail = `${found.detail} They did not agree in time.`;
        return { kind: 'end', to: 'NO_WORK', reasonCode: 'SOURCE_DISAGREES', detail };
      }
      return {
        kind: 'defer',
        reasonCode: found.reasonCode,
        delayMs: Math.min(wait.firstMs * 2 ** wait.times, wait.capMs),
        detail: found.detail,
      };
    case 'stale':
      return isSuperseded(run, head)
        ? { kind: 'end', to: 'SUPERSEDED', reasonCode: 'SUPERSEDED', detail: found.detail }
        : { kind: 'end', to: 'NO_WORK', reasonCode: found.reasonCode, detail: found.detail };
  }
}

/** The verdict on who asks, once their right was read again. Null: nothing stands in the way. */
export function verdictOnAsker(reading: PermissionReading, wait: SourceWait): PreLeaseVerdict | null {
  switch (reading.kind) {
    case 'allowed':
    case 'not-asked':
      return null;
    case 'not-allowed':
      return { kind: 'end', to: 'POLICY_DENIED', reasonCode: 'ACTOR_NOT_ALLOWED', detail: reading.detail };
    case 'unavailable':
      return {
        kind: 'defer',
        reasonCode: 'SOURCE_UNAVAILABLE',
        delayMs: Math.min(wait.firstMs * 2 ** wait.times, wait.capMs),
        detail: reading.detail,
      };
  }
}

/** The task's newest version is what the source shows, and is known to follow this one. */
function isSuperseded(run: DispatchedRun, head: HeadReading): boolean {
  if (head.kind !== 'head' || run.latestVersion === null || run.latestVersion !== head.sha) return false;
  const latest = {
    inputVersion: run.latestVersion,
    sourceAt: run.latestSourceAt,
    parentVersions: run.latestParents,
  };
  return order(latest, run) === 'newer';
}

/** Whether another live worker of the run's queue could take it. */
export const canOthersRun = (
  run: { readonly queueId: number; readonly spec: RunSpec },
  workers: readonly LiveWorker[],
  self: string,
): boolean =>
  workers.some(
    (worker) =>
      worker.id !== self &&
      worker.queueIds.includes(run.queueId) &&
      match(requiredBy(run.spec), worker.capabilities).ok,
  );
