/**
 * 100 000 waiting runs in the worst order: a saturated tenant stands in front of all others, a busy key in front of its
 * own tenant, and nothing was ever vacuumed.
 */
import { hash16, type WorkerId } from '@headgate/domain';
import { type Database, openDatabase } from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import {
  aRunSpec,
  atEnd,
  type PrivatePostgres,
  privatePostgres,
  type SeededTenant,
  seedTenant,
  seedWorker,
  withClient,
} from '@headgate/testkit';
import { type BacklogGroup, seedBacklog, seedTenants } from '@headgate/testkit/measure';
import { CHECKS, policyFrom } from '../world/policy.js';

export interface Scene {
  readonly postgres: PrivatePostgres;
  readonly tenant: SeededTenant;
  readonly workerId: WorkerId;
  readonly saturated: number;
  readonly keyed: number;
  readonly others: readonly number[];
  /** One session in each pool, new at each call. */
  open(): Database;
}

const OTHERS = 198;

export async function setScene(): Promise<Scene> {
  const postgres = await privatePostgres({ durable: false });
  const { superuserUrl } = postgres.server;
  if (superuserUrl === null) throw new Error('a private server has a superuser');
  await withClient(superuserUrl, async (superuser) => {
    await superuser.query('alter system set autovacuum = off');
    await superuser.query('select pg_reload_conf()');
  });
  const open = (): Database => {
    const database = openDatabase({
      serviceUrl: postgres.serviceUrl,
      apiUrl: postgres.apiUrl,
      applicationName: 'plans',
      logger: createLogger('test', { level: 'silent' }),
      maxConnections: 1,
    });
    atEnd(() => database.close());
    return database;
  };
  const first = open();
  const tenant = await seedTenant(first, { policy: await policyFrom(CHECKS), route: 'fix', agent: 'fixer' });
  const workerId = await seedWorker(first, { queueIds: [tenant.queueId], slots: 1_000 });
  const [saturated = 0, keyed = 0, ...others] = await seedTenants(postgres.ownerUrl, OTHERS + 2);
  await seedBacklog(
    { ownerUrl: postgres.ownerUrl, like: tenant, spec: aRunSpec({ route: 'fix' }) },
    groupsOf({ saturated, keyed, others, workerId }),
  );
  await leaveWords(postgres.ownerUrl);
  await leaveDeadRows(postgres.ownerUrl);
  return { postgres, tenant, workerId, saturated, keyed, others, open };
}

const MINUTE_MS = 60_000;

function groupsOf({
  saturated,
  keyed,
  others,
  workerId,
}: Pick<Scene, 'saturated' | 'keyed' | 'others' | 'workerId'>): readonly BacklogGroup[] {
  const busy = { key: hash16('busy'), limit: 1 };
  return [
    { tenantIds: [saturated], state: 'leased', runs: 500, agoMs: 60 * MINUTE_MS, workerId },
    { tenantIds: [keyed], state: 'leased', runs: 1, agoMs: 59 * MINUTE_MS, workerId, concurrency: busy },
    { tenantIds: others, state: 'ended', runs: 20_000, agoMs: 58 * MINUTE_MS },
    { tenantIds: [saturated], state: 'ready', runs: 40_000, agoMs: 50 * MINUTE_MS, history: false },
    { tenantIds: [keyed], state: 'ready', runs: 30_000, agoMs: 40 * MINUTE_MS, concurrency: busy },
    { tenantIds: [keyed], state: 'ready', runs: 100, agoMs: 30 * MINUTE_MS },
    { tenantIds: others, state: 'ready', runs: 27_000, agoMs: 20 * MINUTE_MS },
    { tenantIds: others, state: 'delayed', runs: 1_000, agoMs: 15 * MINUTE_MS, dueAgoMs: 10 * MINUTE_MS },
    { tenantIds: others, state: 'delayed', runs: 1_500, agoMs: 14 * MINUTE_MS, dueAgoMs: -60 * MINUTE_MS },
    { tenantIds: others, state: 'dispatched', runs: 400, agoMs: 13 * MINUTE_MS, dueAgoMs: 2 * MINUTE_MS },
  ];
}

/** What people said of the runs that have ended, of one in ten long ago. */
const leaveWords = (ownerUrl: string): Promise<unknown> =>
  withClient(ownerUrl, (owner) =>
    owner.query(
      `insert into headgate.approval
         (id, tenant_id, run_id, subject, policy_version, operations, four_eyes, expires_at, outcome, decided_at)
       select (left(headgate.uuid7_floor(at)::text, 24) || right(run_id::text, 12))::uuid, tenant_id, run_id, 'proposal', 1,
              '[]'::jsonb, false, at, 'approved', at
         from (select id as run_id, tenant_id,
                      now() - interval '1 day' * case when row_number() over () % 10 = 0 then 100 else 10 end as at
                 from headgate.run where finished_at is not null) ended`,
    ),
  );

/** What a busy hour leaves: a dead version behind every fifth item, in heap and indexes. */
const leaveDeadRows = (ownerUrl: string): Promise<unknown> =>
  withClient(ownerUrl, (owner) =>
    owner.query(
      `update headgate.queue_item set rank_at = rank_at - interval '1 millisecond'
        where state = 'ready' and ('x' || right(run_id::text, 2))::bit(8)::int % 5 = 0`,
    ),
  );
