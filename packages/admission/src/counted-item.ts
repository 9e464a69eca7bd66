/**
 * A queue item with every dimension that is counted. The one place where they are derived, for a run that is
 * admitted and for one whose item was lost alike.
 */
import { hash16, type Risk, type RunId, type TaskId } from '@headgate/domain';
import type { DimensionKey, Dimensions, NewQueueItem } from '@headgate/store';

/** Risk classes as the hot tables hold them. */
export const RISK_RANK: Readonly<Record<Risk, number>> = { LOW: 0, MEDIUM: 1, HIGH: 2, CRITICAL: 3 };

/** What an item is made of, in names; user and repository as the small ids that the run keeps. */
export interface Counted {
  readonly runId: RunId;
  readonly tenantId: number;
  readonly taskId: TaskId;
  /** false only where several versions of the task may run at once. */
  readonly exclusiveTask: boolean;
  readonly headStartSeconds: number;
  readonly timeToLiveMs: number | null;
  readonly organisation: string | null;
  readonly repositoryId: number | null;
  readonly userId: number | null;
  readonly route: string;
  readonly risk: Risk;
  readonly queue: string;
  readonly agent: string;
  readonly concurrency: { readonly key: string; readonly limit: number } | null;
}

/** The dimensions that must be there before `countedItem` (SQL rule 8). */
export function countedKeysOf(
  counted: Pick<Counted, 'tenantId' | 'route' | 'agent' | 'queue' | 'organisation'>,
): readonly DimensionKey[] {
  const { tenantId, organisation } = counted;
  const keys: DimensionKey[] = [
    { tenantId, kind: 'task_type', key: counted.route },
    { tenantId, kind: 'agent', key: counted.agent },
    { tenantId: 0, kind: 'queue', key: counted.queue },
  ];
  if (organisation !== null) keys.push({ tenantId, kind: 'organisation', key: organisation });
  return keys;
}

export function countedItem(counted: Counted, dimensions: Dimensions): NewQueueItem {
  const { tenantId, organisation, concurrency } = counted;
  return {
    runId: counted.runId,
    tenantId,
    taskId: counted.taskId,
    exclusiveTask: counted.exclusiveTask,
    headStartSeconds: counted.headStartSeconds,
    timeToLiveMs: counted.timeToLiveMs,
    organisationId:
      organisation === null ? null : dimensions.id({ tenantId, kind: 'organisation', key: organisation }),
    repositoryId: counted.repositoryId,
    userId: counted.userId,
    taskTypeId: dimensions.id({ tenantId, kind: 'task_type', key: counted.route }),
    risk: RISK_RANK[counted.risk],
    queueId: dimensions.id({ tenantId: 0, kind: 'queue', key: counted.queue }),
    agentId: dimensions.id({ tenantId, kind: 'agent', key: counted.agent }),
    providerId: null,
    sandboxId: null,
    // The tenant is part of the hash, so that a key of one tenant is never another's.
    concurrencyKey: concurrency === null ? null : hash16(`${tenantId}\u0000${concurrency.key}`),
    concurrencyLimit: concurrency?.limit ?? null,
    tokensPerMinute: 0,
    reservedUsd: 0,
  };
}

/** The owner in `owner/name`. */
export const organisationOf = (repository: { readonly fullName: string } | null): string | null =>
  repository?.fullName.split('/')[0] ?? null;
