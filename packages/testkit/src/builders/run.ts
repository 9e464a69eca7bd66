/**
 * Runs as admission would leave them, and as far along as a test needs: every step is the store's own transaction,
 * so that what a test finds is what the product writes.
 */
import {
  hash16,
  hashWorkKey,
  type ReceiptId,
  type RunId,
  type RunSpec,
  type RunStatus,
  systemIds,
  type TaskId,
} from '@headgate/domain';
import {
  approvals,
  type Connection,
  type Database,
  type DecisionReceipt,
  deliveries,
  type NewQueueItem,
  type NewRun,
  queueItems,
  receipts,
  runs,
  tasks,
  taskVersions,
} from '@headgate/store';
import { anAgent, aRoute } from './policy.js';
import { type SeededTenant, seedTenant } from './tenant.js';

/** A run as it was born. */
export interface SeededRun {
  readonly runId: RunId;
  readonly taskId: TaskId;
  readonly receiptId: ReceiptId;
  readonly tenant: SeededTenant;
  readonly workKey: string;
  readonly inputVersion: string;
}

export interface RunSeed {
  readonly tenant?: SeededTenant;
  /** At birth; `reachStatus` takes it further. Default QUEUED, with a ready item. */
  readonly status?: 'QUEUED' | 'ADMITTED' | 'WAITING_APPROVAL';
  /** Default: one of its own. The same key gives another version of the same task. */
  readonly workKey?: string;
  readonly inputVersion?: string;
  readonly sourceAt?: Date | null;
  readonly generation?: number;
  readonly spec?: Partial<RunSpec>;
  /** Both together. */
  readonly concurrency?: { readonly key: string; readonly limit: number } | null;
  /** Of what a person is asked, at birth WAITING_APPROVAL. */
  readonly fourEyes?: boolean;
  readonly headStartSeconds?: number;
  readonly timeToLiveMs?: number | null;
  readonly item?: Partial<NewQueueItem>;
  readonly receipt?: Partial<DecisionReceipt>;
}

export function aRunSpec(change: Partial<RunSpec> = {}): RunSpec {
  const route = aRoute();
  return {
    tenant: 'default',
    workKey: '42/pr/7/check/unit',
    route: route.id,
    mode: route.mode,
    agent: anAgent(),
    prompt: route.prompt,
    setup: route.setup,
    verify: route.verify,
    repository: { externalId: '42', fullName: 'acme/api', url: '/srv/git/api.git', defaultBranch: 'main' },
    target: { kind: 'pull_request', id: '7', ref: 'feature', aspect: 'unit' },
    inputs: null,
    requires: route.requires,
    risk: route.risk,
    onNewVersion: route.onNewVersion,
    limits: route.limits,
    retry: route.retry,
    paths: route.paths,
    protectedPaths: route.protectedPaths,
    ...change,
  };
}

/** The receipt of an admission, as intake writes it. */
export const aReceipt = (change: Partial<DecisionReceipt> = {}): DecisionReceipt => ({
  id: systemIds.next('rcpt'),
  tenantId: 1,
  outcome: 'accept',
  reasonCode: 'ADMITTED',
  message: 'The work was admitted and a run was made.',
  rule: 'work.new',
  trigger: 'event',
  via: 'webhook',
  route: 'fix-failing-check',
  existing: false,
  retryAfter: null,
  watermark: null,
  parentReceiptId: null,
  traceparent: null,
  source: 'acme',
  eventId: `1/${systemIds.next('evt')}`,
  type: 'github.check_run.completed',
  hookId: '1',
  emittedAt: null,
  receivedAt: new Date(),
  actor: 'mona',
  repository: 'acme/api',
  workKey: null,
  targetId: '7',
  inputVersion: null,
  generation: null,
  policyVersion: 1,
  taskId: null,
  runId: null,
  concurrencyKey: null,
  repositoryConfigSha: null,
  replayedBy: null,
  ...change,
});

/** Admits one run: delivery, receipt, task, run, tombstone, item and events, in one transaction. */
export async function seedRun(db: Database, seed: RunSeed = {}): Promise<SeededRun> {
  const tenant = seed.tenant ?? (await seedTenant(db));
  return db.service.transaction((c) => admit(c, tenant, seed));
}

/** Several at once, in one transaction. */
export async function seedRuns(db: Database, count: number, seed: RunSeed = {}): Promise<SeededRun[]> {
  const tenant = seed.tenant ?? (await seedTenant(db));
  return db.service.transaction(async (c) => {
    const seeded: SeededRun[] = [];
    for (let n = 0; n < count; n += 1) seeded.push(await admit(c, tenant, seed));
    return seeded;
  });
}

async function admit(c: Connection, tenant: SeededTenant, seed: RunSeed): Promise<SeededRun> {
  const runId = systemIds.next('run');
  const workKey = seed.workKey ?? `42/pr/${runId}/check/unit`;
  const inputVersion = seed.inputVersion ?? runId.replaceAll('-', '');
  const status = seed.status ?? 'QUEUED';
  const concurrencyKey = seed.concurrency?.key ?? null;
  const spec = aRunSpec({ tenant: tenant.key, workKey, ...seed.spec });
  const [task] = await tasks.lock(c, [
    { taskId: systemIds.next('task'), tenantId: tenant.id, keyHash: hashWorkKey(workKey), workKey },
  ]);
  if (task === undefined) throw new Error('the task was not made');
  const generation = seed.generation ?? task.generation;
  const receipt = aReceipt({
    tenantId: tenant.id,
    workKey,
    inputVersion,
    generation,
    policyVersion: tenant.policyVersion,
    taskId: task.id,
    runId,
    concurrencyKey,
    ...seed.receipt,
  });
  await deliveries.remember(c, [
    {
      sourceId: receipt.source,
      eventId: receipt.eventId,
      tenantId: tenant.id,
      receiptId: receipt.id,
      dedupeWindowMs: aRoute().dedupeWindowMs,
    },
  ]);
  await receipts.insertDecisions(c, [receipt]);
  const run: NewRun = {
    id: runId,
    tenantId: tenant.id,
    taskId: task.id,
    receiptId: receipt.id,
    generation,
    publication: task.publication,
    inputVersion,
    queue: 'default',
    repositoryId: tenant.repositoryId,
    source: receipt.source,
    priority: seed.headStartSeconds ?? 0,
    sourceAt: seed.sourceAt ?? null,
    parentVersions: [],
    policyVersion: tenant.policyVersion,
    concurrencyKey,
    actor: 'mona',
    traceparent: receipt.traceparent,
    spec,
    status,
    reasonCode: status === 'WAITING_APPROVAL' ? 'APPROVAL_REQUIRED' : 'ADMITTED',
  };
  await runs.insert(c, [run]);
  await taskVersions.insert(c, [
    {
      taskId: task.id,
      tenantId: tenant.id,
      generation,
      inputVersion,
      runId,
      sourceAt: run.sourceAt,
      parentVersions: [],
    },
  ]);
  await tasks.attach(c, [{ taskId: task.id, receiptId: receipt.id, tenantId: tenant.id, runId }]);
  if (status === 'QUEUED') await queueItems.insert(c, [itemOf(run, tenant, seed)]);
  if (status === 'WAITING_APPROVAL') {
    const { policyVersion } = tenant;
    await approvals.request(c, [
      { runId, subject: 'admission', policyVersion, operations: [], fourEyes: seed.fourEyes ?? false },
    ]);
  }
  await runs.tellBorn(c, [runId]);
  return { runId, taskId: task.id, receiptId: receipt.id, tenant, workKey, inputVersion };
}

/** The queue item of a run, as admission makes it. */
function itemOf(run: NewRun, tenant: SeededTenant, seed: RunSeed): NewQueueItem {
  return {
    runId: run.id,
    tenantId: tenant.id,
    taskId: run.taskId,
    exclusiveTask: run.spec.onNewVersion !== 'allow',
    headStartSeconds: run.priority,
    timeToLiveMs: seed.timeToLiveMs ?? null,
    organisationId: null,
    repositoryId: tenant.repositoryId,
    userId: null,
    taskTypeId: tenant.taskTypeId,
    risk: 0,
    queueId: tenant.queueId,
    agentId: tenant.agentId,
    providerId: null,
    sandboxId: null,
    concurrencyKey: seed.concurrency ? hash16(`${tenant.key}\u0000${seed.concurrency.key}`) : null,
    concurrencyLimit: seed.concurrency?.limit ?? null,
    tokensPerMinute: 0,
    reservedUsd: 0,
    ...seed.item,
  };
}

/** Statuses in which a run can rest: the others are passed through inside one transaction. */
export type RestingStatus = Exclude<RunStatus, 'STALE_LEASE' | 'FAILED_RETRYABLE'>;
