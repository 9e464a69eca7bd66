/** The rows of an admitted run: its immutable specification, and its queue item with every counted dimension. */

import type { AdmissionWrite } from '@headgate/domain';
import {
  hash16,
  type Policy,
  type Risk,
  type RoutePolicy,
  type RunSpec,
  type Signal,
} from '@headgate/domain';
import type { DimensionKey, Dimensions, NewQueueItem, NewRun, RepositoryKey } from '@headgate/store';
import type { Prepared } from './prepare.js';

export type Admit = Extract<AdmissionWrite, { kind: 'admit' }>;

/** Risk classes as the hot tables hold them. */
export const RISK_RANK: Readonly<Record<Risk, number>> = { LOW: 0, MEDIUM: 1, HIGH: 2, CRITICAL: 3 };

/** The dimension keys a candidate may need, to be made before the transaction (SQL rule 8). */
export function dimensionKeysOf(prepared: Prepared, tenantId: number): DimensionKey[] {
  const { route, signal } = prepared.candidate;
  if (route === null) return [];
  const keys: DimensionKey[] = [
    { tenantId, kind: 'task_type', key: route.id },
    { tenantId, kind: 'agent', key: route.agent },
    { tenantId: 0, kind: 'queue', key: route.queue },
  ];
  const user = userOf(signal);
  if (user !== null) keys.push({ tenantId, kind: 'user', key: user });
  const organisation = organisationOf(signal);
  if (organisation !== null) keys.push({ tenantId, kind: 'organisation', key: organisation });
  return keys;
}

export function repositoryKeyOf(prepared: Prepared, tenantId: number): RepositoryKey | null {
  const { repository, candidate } = prepared;
  if (repository === null || candidate.route === null) return null;
  const { source, identity, fullName, url, defaultBranch } = repository;
  return { tenantId, source, externalId: identity, fullName, url, defaultBranch };
}

export function newRun(admit: Admit, prepared: Prepared, context: RowContext): NewRun {
  const { candidate } = prepared;
  const { signal } = candidate;
  const spec = specOf(prepared, context.policy);
  const repository = repositoryKeyOf(prepared, context.tenantId);
  return {
    id: admit.runId,
    tenantId: context.tenantId,
    taskId: admit.taskId,
    receiptId: candidate.receiptId,
    generation: admit.generation,
    publication: admit.publication,
    inputVersion: candidate.work?.inputVersion ?? '',
    queue: routeOf(prepared).queue,
    repositoryId: repository === null ? null : context.dimensions.repositoryId(repository),
    source: repository?.source ?? signal.source,
    priority: routeOf(prepared).headStartSeconds,
    sourceAt: signal.sourceAt,
    parentVersions: signal.parentVersions,
    policyVersion: context.policyVersion,
    concurrencyKey: prepared.concurrency?.key ?? null,
    actor: signal.actor === null ? null : `${signal.actor.kind}:${signal.actor.name}`,
    traceparent: signal.traceparent,
    spec,
    status: admit.status,
    reasonCode: admit.status === 'QUEUED' ? 'ADMITTED' : 'APPROVAL_REQUIRED',
  };
}

export function newQueueItem(admit: Admit, prepared: Prepared, context: RowContext): NewQueueItem {
  const { dimensions, tenantId } = context;
  const route = routeOf(prepared);
  const { signal } = prepared.candidate;
  const user = userOf(signal);
  const organisation = organisationOf(signal);
  const repository = repositoryKeyOf(prepared, tenantId);
  return {
    runId: admit.runId,
    tenantId,
    taskId: admit.taskId,
    exclusiveTask: prepared.exclusiveTask,
    headStartSeconds: route.headStartSeconds,
    timeToLiveMs: route.timeToLiveMs,
    organisationId:
      organisation === null ? null : dimensions.id({ tenantId, kind: 'organisation', key: organisation }),
    repositoryId: repository === null ? null : dimensions.repositoryId(repository),
    userId: user === null ? null : dimensions.id({ tenantId, kind: 'user', key: user }),
    taskTypeId: dimensions.id({ tenantId, kind: 'task_type', key: route.id }),
    risk: RISK_RANK[route.risk],
    queueId: dimensions.id({ tenantId: 0, kind: 'queue', key: route.queue }),
    agentId: dimensions.id({ tenantId, kind: 'agent', key: route.agent }),
    providerId: null,
    sandboxId: null,
    // The tenant is part of the hash, so that a key of one tenant is never another's.
    concurrencyKey:
      prepared.concurrency === null ? null : hash16(`${tenantId}\u0000${prepared.concurrency.key}`),
    concurrencyLimit: prepared.concurrency?.limit ?? null,
    tokensPerMinute: 0,
    reservedUsd: 0,
  };
}

export interface RowContext {
  readonly tenantId: number;
  readonly policyVersion: number;
  readonly policy: Policy;
  readonly dimensions: Dimensions;
}

function specOf(prepared: Prepared, policy: Policy): RunSpec {
  const route = routeOf(prepared);
  const { signal, work, tenant } = prepared.candidate;
  const agent = policy.agents.find((one) => one.id === route.agent);
  if (agent === undefined)
    throw new Error(`route ${route.id} names agent ${route.agent}, which the policy lacks`);
  const { repository } = prepared;
  return {
    tenant: tenant.id,
    workKey: work?.workKey ?? '',
    route: route.id,
    mode: route.mode,
    agent,
    prompt: route.prompt,
    setup: route.setup,
    verify: route.verify,
    repository:
      signal.repository === null || repository === null || repository.url === null
        ? null
        : {
            externalId: signal.repository.externalId,
            fullName: signal.repository.fullName,
            url: repository.url,
            defaultBranch: repository.defaultBranch,
          },
    target: signal.target,
    inputs: inputsOf(signal),
    requires: route.requires,
    risk: route.risk,
    onNewVersion: route.onNewVersion,
    limits: route.limits,
    retry: route.retry,
    paths: route.paths,
    protectedPaths: route.protectedPaths,
  };
}

function routeOf(prepared: Prepared): RoutePolicy {
  const { route } = prepared.candidate;
  if (route === null) throw new Error('only a routed candidate can be admitted');
  return route;
}

/** What a person gave with a manual run. */
function inputsOf({ trigger, data }: Signal): unknown {
  if (trigger !== 'manual' || typeof data !== 'object' || data === null || !('inputs' in data)) return null;
  return data.inputs ?? null;
}

const userOf = ({ actor }: Signal): string | null =>
  actor === null || actor.kind === 'schedule' ? null : `${actor.kind}:${actor.id}`;

const organisationOf = ({ repository }: Signal): string | null => repository?.fullName.split('/')[0] ?? null;
