/** The rows of an admitted run: its immutable specification, and its queue item with every counted dimension. */
import { createHash } from 'node:crypto';
import {
  type AdmissionWrite,
  needsSecondPerson,
  type Policy,
  type RoutePolicy,
  type RunSpec,
  type Signal,
} from '@headgate/domain';
import { claimOf } from '@headgate/sources';
import type {
  DimensionKey,
  Dimensions,
  NewApproval,
  NewQueueItem,
  NewRun,
  RepositoryKey,
} from '@headgate/store';
import { countedItem, countedKeysOf, organisationOf } from './counted-item.js';
import type { Prepared } from './prepare.js';

export type Admit = Extract<AdmissionWrite, { kind: 'admit' }>;

/** The dimension keys a candidate may need, to be made before the transaction (SQL rule 8). */
export function dimensionKeysOf(prepared: Prepared, tenantId: number): readonly DimensionKey[] {
  const { route, signal } = prepared.candidate;
  if (route === null) return [];
  const keys = countedKeysOf({
    tenantId,
    route: route.id,
    agent: route.agent,
    queue: route.queue,
    organisation: organisationOf(signal.repository),
  });
  const user = userOf(signal);
  return user === null ? keys : [...keys, { tenantId, kind: 'user', key: user }];
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
    actor: wantedBy(prepared),
    userId: userIdOf(signal, context),
    traceparent: signal.traceparent,
    lineage: admit.lineage,
    subject: candidate.cause?.target ?? null,
    spec,
    status: admit.status,
    reasonCode: admit.status === 'QUEUED' ? 'ADMITTED' : 'APPROVAL_REQUIRED',
  };
}

/** Who wants this run: who replays a signal, not who caused it then. Whose permission is asked, its claim says. */
function wantedBy({ submission, candidate }: Prepared): string | null {
  const { actor } = candidate.signal;
  return submission.replays?.by ?? (actor === null ? null : `${actor.kind}:${actor.name}`);
}

export function newQueueItem(admit: Admit, prepared: Prepared, context: RowContext): NewQueueItem {
  const { tenantId } = context;
  const route = routeOf(prepared);
  const { signal } = prepared.candidate;
  const repository = repositoryKeyOf(prepared, tenantId);
  return countedItem(
    {
      runId: admit.runId,
      tenantId,
      taskId: admit.taskId,
      exclusiveTask: prepared.exclusiveTask,
      headStartSeconds: route.headStartSeconds,
      timeToLiveMs: route.timeToLiveMs,
      organisation: organisationOf(signal.repository),
      repositoryId: repository === null ? null : context.dimensions.repositoryId(repository),
      userId: userIdOf(signal, context),
      route: route.id,
      risk: route.risk,
      queue: route.queue,
      agent: route.agent,
      concurrency: prepared.concurrency,
    },
    context.dimensions,
  );
}

/** What a person is asked about a run whose agent may not start by itself. */
export function newApproval(admit: Admit, prepared: Prepared, context: RowContext): NewApproval {
  const { tenant } = prepared.candidate;
  const { risk } = routeOf(prepared);
  return {
    runId: admit.runId,
    subject: 'admission',
    policyVersion: context.policyVersion,
    operations: [],
    fourEyes: needsSecondPerson({ tenant: tenant.id, risk }, context.policy),
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
    promptDigest: route.prompt === null ? null : digestOf(route.prompt),
    ...(Object.keys(prepared.promptValues).length === 0 ? {} : { promptValues: prepared.promptValues }),
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
    claim: claimOf(signal),
    inputs: inputsOf(signal),
    observe: prepared.submission.observe ?? null,
    requires: route.requires,
    risk: route.risk,
    onNewVersion: route.onNewVersion,
    limits: route.limits,
    retry: route.retry,
    paths: route.paths,
    protectedPaths: route.protectedPaths,
  };
}

const digestOf = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

function routeOf(prepared: Prepared): RoutePolicy {
  const { route } = prepared.candidate;
  if (route === null) throw new Error('only a routed candidate can be admitted');
  return route;
}

/** What a person gave with a manual run, or a goal observed. */
function inputsOf({ trigger, data }: Signal): unknown {
  const hasInputs = trigger === 'manual' || trigger === 'goal';
  if (!hasInputs || typeof data !== 'object' || data === null || !('inputs' in data)) return null;
  return data.inputs ?? null;
}

const userOf = ({ actor }: Signal): string | null =>
  actor === null || actor.kind === 'schedule' ? null : `${actor.kind}:${actor.id}`;

export const userIdOf = (
  signal: Signal,
  { dimensions, tenantId }: Pick<RowContext, 'dimensions' | 'tenantId'>,
): number | null => {
  const user = userOf(signal);
  return user === null ? null : dimensions.id({ tenantId, kind: 'user', key: user });
};
