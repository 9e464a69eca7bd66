import { systemClock } from '@headgate/domain';
import { describeWithTool, eventually, testRedis } from '@headgate/testkit';
import { createHintBus, type Hint, type HintBus } from '@headgate/transport';
import { describe, expect, it } from 'vitest';
import { claimRuns, dispatchedItems, finishRun } from '../../../test/world/claims.js';
import { CHECKS, policyFrom } from '../../../test/world/policy.js';
import { anotherTarget, submissionOf } from '../../../test/world/signals.js';
import {
  aDispatcher,
  anAdmission,
  aWorker,
  aWorld,
  noRedis,
  silent,
  type World,
} from '../../../test/world/world.js';

/** Admits `count` pieces of work, each on its own target. */
async function admit(world: World, count: number, from = 0): Promise<void> {
  const { admission } = anAdmission(world);
  await Promise.all(
    Array.from({ length: count }, (_, at) => admission.submit(submissionOf(anotherTarget(from + at)))),
  );
}

const items = (world: World) =>
  world.sql<{ run_id: string; state: string; dispatch_no: number }>(
    'select run_id, state, dispatch_no from headgate.queue_item order by rank_at, run_id',
  );

/** A bus that only remembers what was published. */
function aRecordingBus(): { readonly bus: HintBus; readonly hints: Hint[] } {
  const hints: Hint[] = [];
  const bus: HintBus = {
    ...noRedis(),
    publish: async (published) => {
      hints.push(...published);
      return { published: published.length, failed: 0 };
    },
  };
  return { bus, hints };
}

describe('a turn', () => {
  it('Q26: dispatches what live workers can take and a small window, and hints each run once', async () => {
    const world = await aWorld();
    await aWorker(world, 3);
    await admit(world, 8);
    const { bus, hints } = aRecordingBus();
    const dispatcher = aDispatcher(world, { bus });
    expect(await dispatcher.turn({ wait: true })).toBe(0);
    await dispatcher.scan();

    expect(await dispatcher.turn({ wait: true })).toBe(5);
    expect(await dispatcher.turn({ wait: true })).toBe(0);

    const dispatched = (await items(world)).filter((item) => item.state === 'dispatched');
    expect(dispatched.map((item) => item.dispatch_no)).toEqual([1, 1, 1, 1, 1]);
    expect(hints.map((hint) => [hint.queue, hint.runId, hint.dispatchNo])).toEqual(
      expect.arrayContaining(dispatched.map((item) => ['default', item.run_id, 1])),
    );
    expect(hints).toHaveLength(5);
  });

  it('Q26: says whether it left something that may be ready', async () => {
    const world = await aWorld();
    await admit(world, 1);
    const [first, second] = [aDispatcher(world), aDispatcher(world)];
    expect(first.leavesSome).toBe(false);
    await first.scan();
    // No worker lives: nothing is read.
    await first.turn({ wait: true });
    expect(first.leavesSome).toBe(true);
    await aWorker(world, 3);
    expect(await first.turn({ wait: true })).toBe(1);
    expect(first.leavesSome).toBe(false);

    await admit(world, 9, 1);
    await second.scan();
    await world.database.service.transaction(async (c) => {
      await c.query("select pg_advisory_xact_lock(hashtextextended('headgate.dispatch', 0))");
      expect(await second.turn({ wait: false })).toBe(0);
      expect(second.leavesSome).toBe(true);
    });
    // More than fits is there.
    expect(await second.turn({ wait: true })).toBe(4);
    expect(second.leavesSome).toBe(true);
  });

  it('Q20: dispatches nothing while no worker of the queue lives', async () => {
    const world = await aWorld();
    await admit(world, 1);
    const dispatcher = aDispatcher(world);
    await dispatcher.scan();
    expect(await dispatcher.turn({ wait: true })).toBe(0);
    await aWorker(world, 1);
    expect(await dispatcher.turn({ wait: true })).toBe(1);
  });

  it('Q23: several dispatchers at once never dispatch a run twice, nor more than fits', async () => {
    const world = await aWorld();
    await aWorker(world, 10);
    await admit(world, 40);
    const dispatchers = [aDispatcher(world), aDispatcher(world), aDispatcher(world)];
    await Promise.all(dispatchers.map((one) => one.scan()));

    const turns = await Promise.all(
      dispatchers.flatMap((one) => [
        one.turn({ wait: true }),
        one.turn({ wait: false }),
        one.turn({ wait: true }),
      ]),
    );

    expect(turns.reduce((sum, one) => sum + one, 0)).toBe(12);
    const dispatched = (await items(world)).filter((item) => item.state === 'dispatched');
    expect(dispatched).toHaveLength(12);
    expect(new Set(dispatched.map((item) => item.dispatch_no))).toEqual(new Set([1]));
  });

  it('Q23: finds what stands behind more blocked heads than one turn reads', async () => {
    const policy = await policyFrom(`
version: 1
sources:
  forge:
    kind: github
    webhookSecrets: [ "\${TEST_SECRET}" ]
    repositories: { acme/api: { url: /nowhere/api.git }, acme/web: { url: /nowhere/web.git } }
agents: { fixer: { runtime: command, command: [ node, fix.js ] } }
limits: { maxActivePerRepository: 1 }
routes: { fix: { on: [ github.check_run.completed ] } }`);
    const world = await aWorld(policy);
    await aWorker(world, 50);
    await admit(world, 450);
    const { admission } = anAdmission(world);
    const behind = await admission.submit(
      submissionOf({ repository: { externalId: '43', fullName: 'acme/web', defaultBranch: 'main' } }),
    );
    const dispatcher = aDispatcher(world);
    await dispatcher.scan();
    // One of acme/api takes the repository's only place, and what is behind it is not reached yet.
    expect(await dispatcher.turn({ wait: true })).toBe(1);
    let turns = 0;
    while ((await dispatcher.turn({ wait: true })) === 0 && turns < 10) turns += 1;
    expect(turns).toBeLessThanOrEqual(3);
    const dispatched = await dispatchedItems(world);
    expect(dispatched.map((item) => item.runId)).toContain(behind.runId);
  }, 60_000);

  it('Q7: under another policy than its own it reads that first, and dispatches nothing', async () => {
    const world = await aWorld();
    await aWorker(world, 5);
    await admit(world, 1);
    let moved = 0;
    const old = world.active;
    const dispatcher = aDispatcher(world, { policy: () => old, onPolicyMoved: () => (moved += 1) });
    await dispatcher.scan();
    await world.activate({
      ...old.policy,
      digest: 'another',
      limits: { ...old.policy.limits, maxActive: 0 },
    });
    expect(await dispatcher.turn({ wait: true })).toBe(0);
    expect(moved).toBe(1);
  });

  it('Q23: a run that ended gives its key to the next, without a scan', async () => {
    const world = await aWorld();
    const worker = await aWorker(world, 5);
    const { admission } = anAdmission(world);
    // Two pieces of work on one pull request: two checks of it.
    await admission.submit(
      submissionOf({ target: { kind: 'pull_request', id: '7', ref: 't', aspect: 'unit' } }),
    );
    await admission.submit(
      submissionOf({ target: { kind: 'pull_request', id: '7', ref: 't', aspect: 'lint' } }),
    );
    const dispatcher = aDispatcher(world);
    await dispatcher.scan();
    expect(await dispatcher.turn({ wait: true })).toBe(1);
    const [run] = await claimRuns(world, worker, await dispatchedItems(world));
    expect(await dispatcher.turn({ wait: true })).toBe(0);
    expect(run).toBeDefined();
    if (run !== undefined) await finishRun(world, run);
    expect(await dispatcher.turn({ wait: true })).toBe(1);
  });

  it('a queue that only another process knows yet is noted', async () => {
    const world = await aWorld();
    const dispatcher = aDispatcher(world);
    await dispatcher.noteReady([{ tenantId: world.tenantId, queue: 'brand-new' }]);
    expect(dispatcher.hasReady).toBe(true);
  });
});

describe('upkeep', () => {
  it('Q27: an unanswered hint is sent again, and after 30 s the run is ready again', async () => {
    const world = await aWorld();
    await aWorker(world, 1);
    await admit(world, 1);
    const { bus, hints } = aRecordingBus();
    const dispatcher = aDispatcher(world, { bus });
    await dispatcher.scan();
    await dispatcher.turn({ wait: true });
    expect(await dispatcher.upkeep()).toEqual({ promoted: 0, expired: 0, takenBack: 0, hintedAgain: 0 });

    await world.sql(
      "update headgate.queue_item set dispatched_at = now() - interval '6 s', hinted_at = now() - interval '6 s'",
    );
    expect(await dispatcher.upkeep()).toMatchObject({ takenBack: 0, hintedAgain: 1 });
    expect(await dispatcher.upkeep()).toMatchObject({ hintedAgain: 0 });
    expect(hints.map((hint) => hint.dispatchNo)).toEqual([1, 1]);

    await world.sql("update headgate.queue_item set dispatched_at = now() - interval '31 s'");
    expect(await dispatcher.upkeep()).toMatchObject({ takenBack: 1 });
    expect(await items(world)).toMatchObject([{ state: 'ready', dispatch_no: 1 }]);
    const [event] = await world.sql<Record<string, unknown>>(
      "select type, reason_code, actor from headgate.run_event where reason_code = 'DISPATCH_EXPIRED'",
    );
    expect(event).toEqual({ type: 'item.taken_back', reason_code: 'DISPATCH_EXPIRED', actor: 'test' });
    expect(await dispatcher.turn({ wait: true })).toBe(1);
    expect(await items(world)).toMatchObject([{ state: 'dispatched', dispatch_no: 2 }]);
  });

  it('Q18: a delayed item becomes ready when its time has come', async () => {
    const world = await aWorld();
    await aWorker(world, 1);
    await admit(world, 1);
    await world.sql(
      "update headgate.queue_item set state = 'delayed', waits = 'backoff', visible_at = now() - interval '1 ms'",
    );
    const dispatcher = aDispatcher(world);
    expect(await dispatcher.upkeep()).toMatchObject({ promoted: 1 });
    expect(await dispatcher.turn({ wait: true })).toBe(1);
  });

  it('an item that outlived its time ends EXPIRED, with its receipt, and never vanishes', async () => {
    const policy = await policyFrom(`${CHECKS}    timeToLive: 1h`);
    const world = await aWorld(policy);
    await admit(world, 2);
    const dispatcher = aDispatcher(world);
    expect(await dispatcher.upkeep()).toMatchObject({ expired: 0 });
    await world.sql("update headgate.queue_item set expires_at = now() - interval '1 ms'");
    expect(await dispatcher.upkeep()).toMatchObject({ expired: 2 });
    expect(await items(world)).toEqual([]);
    const runs = await world.sql<Record<string, unknown>>('select status, reason_code from headgate.run');
    expect(runs).toEqual([
      { status: 'EXPIRED', reason_code: 'TIME_TO_LIVE_EXPIRED' },
      { status: 'EXPIRED', reason_code: 'TIME_TO_LIVE_EXPIRED' },
    ]);
    expect(await world.sql("select 1 from headgate.receipt where kind = 'closing'")).toHaveLength(2);
    expect(await world.sql("select 1 from headgate.task_version where outcome = 'EXPIRED'")).toHaveLength(2);
  });
});

describeWithTool('redis', 'hints', () => {
  it('Q2: lie in Redis under run id and dispatch number, and carry nothing else', async () => {
    const world = await aWorld();
    await aWorker(world, 1);
    await admit(world, 1);
    const redis = await testRedis();
    const bus = createHintBus({ url: redis.url, prefix: redis.prefix, logger: silent, clock: systemClock });
    const dispatcher = aDispatcher(world, { bus });
    await dispatcher.scan();
    await dispatcher.turn({ wait: true });
    const [item] = await dispatchedItems(world);
    const waiting = await eventually(
      async () => {
        const answer = await bus.listHints('default', 10);
        return answer.ok && answer.value.length > 0 ? answer.value : null;
      },
      { what: 'the hint is in Redis' },
    );
    expect(waiting.map((one) => one.hint)).toMatchObject([{ runId: item?.runId, dispatchNo: 1 }]);
    await bus.close();
  });
});
