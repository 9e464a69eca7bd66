import { type Policy, systemIds, type WorkerId } from '@headgate/domain';
import {
  type Database,
  Dimensions,
  policies,
  tenants,
  type WorkerRegistration,
  workers,
} from '@headgate/store';
import { aPolicy, aTenantPolicy } from './policy.js';

/** A tenant with the ids that its rows carry. */
export interface SeededTenant {
  readonly id: number;
  readonly key: string;
  /** The active policy's. */
  readonly policyVersion: number;
  readonly queueId: number;
  readonly agentId: number;
  readonly taskTypeId: number;
  readonly repositoryId: number;
}

export interface TenantSeed {
  readonly key?: string;
  readonly queue?: string;
  readonly agent?: string;
  readonly route?: string;
  /** Activated if it is given, or if none is active yet. */
  readonly policy?: Policy;
}

/** The tenant, an active policy, and the dimension ids of its example route. May be called again. */
export async function seedTenant(db: Database, seed: TenantSeed = {}): Promise<SeededTenant> {
  const { key = 'default', queue = 'default', agent = 'example', route = 'fix-failing-check' } = seed;
  const active = await db.service.use((c) => policies.head(c));
  const wanted = seed.policy ?? aPolicy({ tenants: [aTenantPolicy({ id: key })] });
  const head =
    seed.policy === undefined && active !== null
      ? active
      : await policies.activate(db.service, wanted, 'test');
  const rows = await db.service.use(async (c) => {
    await tenants.ensure(c, [{ key, timezone: 'UTC' }]);
    return tenants.all(c);
  });
  const id = rows.find((row) => row.key === key)?.id;
  if (id === undefined) throw new Error(`tenant ${key} was not made`);
  const dimensions = new Dimensions(db.service);
  const queueKey = { tenantId: 0, kind: 'queue', key: queue } as const;
  const agentKey = { tenantId: id, kind: 'agent', key: agent } as const;
  const taskTypeKey = { tenantId: id, kind: 'task_type', key: route } as const;
  const repository = { tenantId: id, source: 'acme', externalId: '42' };
  await dimensions.ensure(
    [queueKey, agentKey, taskTypeKey],
    [{ ...repository, fullName: 'acme/api', url: '/srv/git/api.git', defaultBranch: 'main' }],
  );
  return {
    id,
    key,
    policyVersion: head.version,
    queueId: dimensions.id(queueKey),
    agentId: dimensions.id(agentKey),
    taskTypeId: dimensions.id(taskTypeKey),
    repositoryId: dimensions.repositoryId(repository),
  };
}

/** A worker that is READY for the given queues. */
export async function seedWorker(
  db: Database,
  seed: { readonly queueIds: readonly number[] } & Partial<WorkerRegistration>,
): Promise<WorkerId> {
  const id = seed.id ?? systemIds.next('wkr');
  await db.service.use(async (c) => {
    await workers.register(c, {
      name: `worker-${id}`,
      capabilities: { node: '20.19.0' },
      slots: 10,
      leaseTtlMs: 60_000,
      host: 'localhost',
      pid: process.pid,
      version: '0.1.0',
      ...seed,
      id,
    });
    await workers.setState(c, id, 'READY');
  });
  return id;
}
