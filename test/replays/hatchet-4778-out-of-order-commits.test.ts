/**
 * hatchet #4778: limit 2, inserted A B C D, committed D C B A. What commits late must be counted by what commits
 * later still: never 3 running.
 */
import { withClient } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { claimRuns, dispatchedItems, finishRun } from '../world/claims.js';
import { CHECKS, policyFrom } from '../world/policy.js';
import { anotherTarget, submissionOf } from '../world/signals.js';
import { aDispatcher, anAdmission, aWorker, aWorld, type World } from '../world/world.js';

/** Holds a task's row until it is let go, so that the admission of its work cannot commit before. */
async function holdTask(world: World, workKey: string): Promise<{ letGo(): Promise<void> }> {
  let open = () => {};
  const asked = new Promise<void>((resolve) => {
    open = resolve;
  });
  let isHeld = () => {};
  const held = new Promise<void>((resolve) => {
    isHeld = resolve;
  });
  const whole = withClient(world.urls.ownerUrl, async (client) => {
    await client.query('begin');
    await client.query('select 1 from headgate.task where work_key = $1 for update', [workKey]);
    isHeld();
    await asked;
    await client.query('commit');
  });
  await Promise.race([held, whole]);
  return {
    letGo: () => {
      open();
      return whole;
    },
  };
}

describe('hatchet #4778', () => {
  it('Q23: work that commits in the opposite order never runs above its limit', async () => {
    const world = await aWorld(
      await policyFrom(`${CHECKS}
limits: { maxActive: 2 }`),
    );
    const worker = await aWorker(world, 10);
    const names = [0, 1, 2, 3];
    const keyOf = (n: number) => `42/pr/${1_000 + n}/check/unit`;
    // The tasks are there from an earlier version, which has ended.
    const { admission } = anAdmission(world);
    for (const n of names)
      await admission.submit(submissionOf({ ...anotherTarget(n), inputVersion: 'a'.repeat(40) }));
    await world.sql("update headgate.run set status = 'EXPIRED'");
    await world.sql("update headgate.task_version set outcome = 'EXPIRED'");
    await world.sql('delete from headgate.queue_item');

    const holders = await Promise.all(names.map((n) => holdTask(world, keyOf(n))));
    const submitted = names.map((n) =>
      anAdmission(world).admission.submit(
        submissionOf({ ...anotherTarget(n), inputVersion: 'b'.repeat(40) }),
      ),
    );
    const dispatcher = aDispatcher(world);
    let most = 0;
    for (const n of [...names].reverse()) {
      await holders[n]?.letGo();
      await submitted[n];
      await dispatcher.scan();
      await dispatcher.turn({ wait: true });
      await claimRuns(world, worker, await dispatchedItems(world));
      const [held] = await world.sql<{ held: number }>('select count(*)::int as held from headgate.lease');
      most = Math.max(most, held?.held ?? 0);
    }
    expect(most).toBe(2);
    const waiting = await world.sql("select 1 from headgate.queue_item where state = 'ready'");
    expect(waiting).toHaveLength(2);
  });

  it('Q23: each slot that comes free is given once', async () => {
    const world = await aWorld(
      await policyFrom(`${CHECKS}
limits: { maxActive: 2 }`),
    );
    const worker = await aWorker(world, 10);
    const { admission } = anAdmission(world);
    await Promise.all([0, 1, 2, 3].map((n) => admission.submit(submissionOf(anotherTarget(n)))));
    const dispatchers = [aDispatcher(world), aDispatcher(world)];
    let ended = 0;
    for (let round = 0; round < 8 && ended < 4; round += 1) {
      await Promise.all(dispatchers.map((one) => one.scan()));
      await Promise.all(dispatchers.map((one) => one.turn({ wait: true })));
      const runs = await claimRuns(world, worker, await dispatchedItems(world));
      expect(runs.length).toBeLessThanOrEqual(2);
      for (const run of runs) await finishRun(world, run);
      ended += runs.length;
    }
    expect(ended).toBe(4);
  });
});
