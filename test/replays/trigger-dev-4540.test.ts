/** trigger.dev #4540, #2907: workers are killed at random; slots leak one by one, or are given back twice. */
import { Dispatcher } from '@headgate/dispatch';
import { type RunId, systemClock, systemIds, type WorkerId } from '@headgate/domain';
import { type ActivePolicy, claim, Dimensions, placementViolations, policies, reap } from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import {
  aPolicy,
  expireLease,
  finishRun,
  type SeededLease,
  type SeededTenant,
  seedRun,
  seedTenant,
  seedWorker,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { createHintBus } from '@headgate/transport';
import { expect, test } from 'vitest';

const LIMIT = 4;
const KILLS = 200;
const RUNS = 24;
const WORKERS = 4;

/** Where a worker may be when it is killed. */
const DEATHS = ['before the verdict', 'before the claim', 'holding the lease'] as const;

/** mulberry32: the same deaths for the same seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

test(`Q22, INV-QU1, INV-QU2: ${KILLS} kills at a limit of ${LIMIT}: never more at once, and all slots come back`, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = seeded(seed);
  const db = await testStore();
  const limits = {
    maxActive: LIMIT,
    maxActivePerRepository: null,
    maxActivePerUser: null,
    maxActiveByRisk: {},
    maxActiveByProvider: {},
  };
  const tenant = await seedTenant(db, { policy: aPolicy({ limits }) });
  const retry = { maxAttempts: 3, maxInfrastructure: 5, maxLeaseLost: KILLS + 1, backoffMs: [1] };
  for (let n = 0; n < RUNS; n += 1) await seedRun(db, { tenant, spec: { retry } });
  const workers: WorkerId[] = [];
  for (let n = 0; n < WORKERS; n += 1) workers.push(await seedWorker(db, { queueIds: [tenant.queueId] }));
  const world = { db, tenant, dispatcher: await dispatcherOf(db), random, kills: 0, most: 0 };

  const loops = [sampling(world), dispatching(world), reaping(world)];
  await Promise.all(workers.map((workerId) => working(world, workerId)));
  await Promise.all(loops);

  expect(world.kills, `seed ${seed}`).toBe(KILLS);
  expect(world.most, `seed ${seed}`).toBeLessThanOrEqual(LIMIT);
  // The limit was really reached, or the test says nothing.
  expect(world.most, `seed ${seed}`).toBe(LIMIT);
  const left = await db.service.use((c) =>
    c.query(
      `select (select count(*)::int from headgate.run where status <> 'SUCCEEDED') as unfinished,
              (select count(*)::int from headgate.lease) as leases,
              (select count(*)::int from headgate.queue_item) as items,
              (select count(*)::int from headgate.attempt where status = 'running') as running`,
    ),
  );
  expect(left).toEqual([{ unfinished: 0, leases: 0, items: 0, running: 0 }]);
  expect(await db.service.use((c) => placementViolations(c))).toEqual([]);
}, 180_000);

interface World {
  readonly db: TestStore;
  readonly tenant: SeededTenant;
  readonly dispatcher: Dispatcher;
  readonly random: () => number;
  kills: number;
  most: number;
}

async function dispatcherOf(db: TestStore): Promise<Dispatcher> {
  const logger = createLogger('test', { level: 'silent' });
  const active = await db.service.use((c) => policies.active(c));
  if (active === null) throw new Error('no policy is active');
  return new Dispatcher({
    pool: db.service,
    bus: createHintBus({ url: null, logger, clock: systemClock }),
    dimensions: new Dimensions(db.service),
    logger,
    policy: (): ActivePolicy => active,
    actor: 'scheduler',
    timing: { hintAgainAfterMs: 10, takeBackAfterMs: 40 },
  });
}

const isDone = async ({ db }: World): Promise<boolean> =>
  (await db.service.use((c) => c.query("select 1 from headgate.run where status <> 'SUCCEEDED' limit 1")))
    .length === 0;

/** Slots in use, leases and dispatches together, in one snapshot after the other. */
async function sampling(world: World): Promise<void> {
  while (!(await isDone(world))) {
    const [row] = await world.db.reserved.use((c) =>
      c.query<{ held: number }>(
        `select (select count(*) from headgate.lease)::int
              + (select count(*) from headgate.queue_item where state = 'dispatched')::int as held`,
      ),
    );
    world.most = Math.max(world.most, row?.held ?? 0);
  }
}

async function dispatching(world: World): Promise<void> {
  while (!(await isDone(world))) {
    await world.dispatcher.upkeep();
    await world.dispatcher.scan();
    await world.dispatcher.turn({ wait: true });
  }
}

async function reaping(world: World): Promise<void> {
  while (!(await isDone(world))) {
    await reap(world.db.service, { limit: 50, graceMs: 1, random: world.random, actor: 'reconciler' });
  }
}

/** One life after the other, each with a death somewhere, until the kills are used up; then it works to the end. */
async function working(world: World, workerId: WorkerId): Promise<void> {
  while (!(await isDone(world))) {
    const death = world.kills < KILLS ? DEATHS[Math.floor(world.random() * DEATHS.length)] : undefined;
    await oneLife(world, workerId, death ?? null);
  }
}

async function oneLife(
  world: World,
  workerId: WorkerId,
  death: (typeof DEATHS)[number] | null,
): Promise<void> {
  const { db } = world;
  const hint = await aHint(world);
  if (hint === null) return;
  const dies = (where: (typeof DEATHS)[number]): boolean => {
    if (death !== where || world.kills >= KILLS) return false;
    world.kills += 1;
    return true;
  };
  if (dies('before the verdict')) return;
  if (dies('before the claim')) return;
  const lease = await claimHint(world, workerId, hint);
  if (lease === null) return;
  if (dies('holding the lease')) {
    await expireLease(db, lease.fence.runId);
    return;
  }
  await finishRun(db, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
}

async function aHint({ db, random }: World): Promise<{ runId: RunId; dispatchNo: number } | null> {
  const dispatched = await db.service.use((c) =>
    c.query<{ runId: RunId; dispatchNo: number }>(
      `select run_id as "runId", dispatch_no as "dispatchNo" from headgate.queue_item where state = 'dispatched'`,
    ),
  );
  return dispatched[Math.floor(random() * dispatched.length)] ?? null;
}

async function claimHint(
  { db, tenant }: World,
  workerId: WorkerId,
  hint: { readonly runId: RunId; readonly dispatchNo: number },
): Promise<SeededLease | null> {
  const result = await claim(db.service, {
    workerId,
    queueIds: [tenant.queueId],
    ttlMs: 60_000,
    policyVersion: tenant.policyVersion,
    hinted: [{ ...hint, attemptId: systemIds.next('att'), leaseId: systemIds.next('lease'), judgedAgoMs: 0 }],
    limit: 1,
    verdictMaxAgeMs: 30_000,
  });
  const claimed = result.kind === 'claimed' ? result.runs[0] : undefined;
  if (claimed === undefined) return null;
  const { runId, fencingToken, leaseId, attemptId, attemptNo } = claimed;
  return { fence: { runId, fencingToken, leaseId }, attemptId, leaseId, workerId, attemptNo };
}
