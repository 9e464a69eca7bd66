/**
 * Q27, "conservative": what is healthy is never repaired. Random traffic by the store's own transactions, while two
 * reconcilers look ten times and more as often as they would, and a scheduler does its upkeep.
 */
import {
  cancelRun,
  enterStages,
  leases,
  placementViolations,
  promoteDue,
  takeBackUnclaimed,
  writeVerdicts,
} from '@headgate/store';
import {
  aPolicy,
  atEnd,
  claimRun,
  dispatchRun,
  eventually,
  expireLease,
  finishRun,
  needsApproval,
  offerRun,
  type SeededRun,
  seedRun,
  seedWorker,
  testDepth,
} from '@headgate/testkit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createReconciler } from '../src/index.js';
import { aWorld, type World } from './world.js';

const LIVES = [
  'waits',
  'dispatched',
  'deferred',
  'ended-before-lease',
  'cancelled-waiting',
  'succeeds',
  'fails-and-waits',
  'fails-for-good',
  'proposes',
  'cancelled-running',
  'cancelled-and-finished',
  'expires',
  'runs',
] as const;
type Life = (typeof LIVES)[number];

const cancel = { actor: 'mona', reason: null };
const failure = (reasonCode: 'AGENT_FAILED' | 'SETUP_FAILED') =>
  ({ kind: 'failed', reasonCode, detail: null, retryAfterMs: null }) as const;

async function live(world: World, life: Life, run: SeededRun): Promise<void> {
  const { db } = world;
  switch (life) {
    case 'waits':
      return;
    case 'cancelled-waiting':
      await cancelRun(db.service, run.runId, cancel);
      return;
    case 'dispatched':
      await offerRun(db, run);
      return;
    case 'deferred':
    case 'ended-before-lease': {
      const dispatchNo = await dispatchRun(db, run);
      const verdict =
        life === 'deferred'
          ? ({ kind: 'defer', reasonCode: 'SOURCE_UNAVAILABLE', delayMs: 200, detail: null } as const)
          : ({ kind: 'end', to: 'NO_WORK', reasonCode: 'STALE_INPUT', detail: null } as const);
      await writeVerdicts(db.service, [{ runId: run.runId, dispatchNo, verdict }], 'test');
      return;
    }
    default:
      await work(world, life, run);
  }
}

async function work(
  { db, tenant }: World,
  life: Exclude<Life, 'waits' | 'cancelled-waiting' | 'dispatched' | 'deferred' | 'ended-before-lease'>,
  run: SeededRun,
): Promise<void> {
  const workerId = await seedWorker(db, { queueIds: [tenant.queueId] });
  const lease = await claimRun(db, run, { workerId });
  const { fence } = lease;
  const stage = { fence, to: 'RUNNING', actor: `worker:${workerId}` } as const;
  await enterStages(db.service, [stage]);
  await db.reserved.use((c) => leases.beat(c, [fence], workerId, 60_000));
  switch (life) {
    case 'runs':
      return;
    case 'succeeds':
      await finishRun(db, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' }, 0.5);
      return;
    case 'fails-and-waits':
      await finishRun(db, lease, failure('AGENT_FAILED'));
      return;
    case 'fails-for-good':
      await finishRun(db, lease, failure('SETUP_FAILED'));
      return;
    case 'proposes':
      await finishRun(db, lease, needsApproval());
      return;
    case 'cancelled-running':
      await cancelRun(db.service, run.runId, cancel);
      return;
    case 'cancelled-and-finished':
      await cancelRun(db.service, run.runId, cancel);
      await finishRun(db, lease, { kind: 'cancelled' });
      return;
    case 'expires':
      await expireLease(db, run.runId);
  }
}

/** What a scheduler does all the time. */
async function upkeep({ db }: World, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await promoteDue(db.service, 100, 'scheduler');
    await takeBackUnclaimed(db.service, {
      hintAgainAfterMs: 200,
      takeBackAfterMs: 400,
      limit: 100,
      actor: 'scheduler',
    });
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('Q27: under random healthy traffic no reconciler repairs anything, and every run is where it belongs', async () => {
  const lease = { ttlMs: 60_000, heartbeatMs: 15_000, renewDeadlineMs: 40_000, stopMarginMs: 20_000 };
  const world = await aWorld({ policy: aPolicy({ lease }) });
  const timing = { reapMs: 50, repairMs: 20, lateMs: 6_000 };
  const reconcilers = [1, 2].map(() => createReconciler(world.context, { timing }));
  atEnd(() => Promise.all(reconcilers.map((one) => one.stop())).then(() => {}));
  for (const one of reconcilers) await one.start();
  const lives = fc.array(fc.constantFrom(...LIVES), { minLength: 12, maxLength: 24 });
  await fc.assert(
    fc.asyncProperty(lives, async (drawn) => {
      let isOver = false;
      const scheduling = upkeep(world, () => isOver);
      const queue = [...drawn];
      const actors = [1, 2, 3].map(async () => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
          const run = await seedRun(world.db, { tenant: world.tenant });
          // The scheduler may take a dispatch back in between: then there is nothing to claim, and that is healthy too.
          await live(world, next, run).catch((fault: unknown) => {
            if (!/was not claimed|was not ready/.test(String(fault))) throw fault;
          });
        }
      });
      await Promise.all(actors).finally(() => {
        isOver = true;
      });
      await scheduling;
      expect(await world.repairs()).toEqual([]);
      expect(await world.db.service.use((c) => placementViolations(c))).toEqual([]);
    }),
    { numRuns: testDepth() === 'normal' ? 3 : 60, endOnFailure: true },
  );

  // They were awake all the time: what is broken now, they see.
  const broken = await seedRun(world.db, { tenant: world.tenant });
  await world.rows('delete from headgate.queue_item where run_id = $1', [broken.runId]);
  await eventually(async () => (await world.repairs()).length > 0, { what: 'the broken run is repaired' });
}, 180_000);
