/** A goal whose agent has published: what it looks at next is its own branch, and what it does is put behind it there. */
import { systemIds } from '@headgate/domain';
import { createLedger } from '@headgate/store';
import { describe, expect, it } from 'vitest';
import type { LeasedRun } from '../../../test/world/claims.js';
import { aGoalWorld, type GoalWorld, goalReceipts, goalYaml, observationLines } from './goal-world.js';
import { head } from './schedule-world.js';

const BRANCH = 'agent/task_goal/run_first';

/** Ends the agent's run with a confirmed push of a commit to the branch of the goal. */
async function publish(place: GoalWorld, run: LeasedRun, character: string): Promise<void> {
  const { runId, fencingToken, leaseId, tenantId } = run;
  const fence = { runId, fencingToken, leaseId };
  const ledger = createLedger(place.world.database.service, { tenantId, ids: systemIds, actor: 'applier' });
  const key = `${run.spec.workKey}/push/${character}`;
  const commitSha = character.repeat(40);
  await ledger.intend({ key, kind: 'push', fence, intent: { ref: `refs/heads/${BRANCH}`, commitSha } });
  await ledger.attempt({ key, fence });
  await ledger.confirm({ key, externalId: commitSha, url: null, evidence: {} });
  await place.finish(run, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
  place.reader.answer = head(character);
}

/** Asks for a look and ends it with what was seen; the observation's run is what the worker was given. */
async function look(place: GoalWorld, facts: Parameters<GoalWorld['observe']>[1]): Promise<LeasedRun> {
  await place.makeDue();
  await place.turn();
  const run = await place.claim();
  await place.observe(run, facts);
  return run;
}

describe('a goal at its own published branch', () => {
  it('I2: is looked at where its agent has published, works on from there, and is done when the condition holds', async () => {
    const place = await aGoalWorld(goalYaml('{ maxRuns: 3, noProgress: 9 }'));
    const first = await look(place, {});
    expect(first.spec.target).toMatchObject({ kind: 'repository', ref: 'main' });
    expect(await place.turn()).toMatchObject([{ kind: 'working' }]);
    await publish(place, await place.claim(), 'b');
    expect(await place.turn()).toMatchObject([{ kind: 'agent-ended' }]);

    const second = await look(place, { version: 'b'.repeat(40), ref: BRANCH, output: 'one left' });
    expect(second.spec.target).toMatchObject({ kind: 'branch', id: BRANCH, ref: BRANCH });
    expect(await place.turn()).toMatchObject([{ kind: 'working' }]);
    const again = await place.claim();
    expect(again).toMatchObject({ inputVersion: 'b'.repeat(40) });
    expect(again.spec.target).toMatchObject({ kind: 'branch', ref: BRANCH });
    await publish(place, again, 'c');
    await place.turn();

    const third = await look(place, { version: 'c'.repeat(40), ref: BRANCH, exitCode: 0 });
    expect(third.spec.target).toMatchObject({ ref: BRANCH });
    expect(await place.turn()).toEqual([{ kind: 'done' }]);
    expect(await place.goal()).toMatchObject({ state: 'done', runs: 2, observations: 3 });
    expect((await observationLines(place.world)).map(({ outcome }) => outcome)).toEqual([
      'open',
      'open',
      'holds',
    ]);
    expect((await goalReceipts(place.world)).at(-1)).toMatchObject({
      reason: 'NOTHING_FOUND',
      watermark: 'c'.repeat(40),
    });
    // One task, so one branch and one pull request.
    const tasks = await place.world.sql(
      `select distinct task_id from headgate.run where spec ->> 'observe' is null`,
    );
    expect(tasks).toHaveLength(1);
  });

  it('I2: is given up at its bound, with what was published left as it stands', async () => {
    const place = await aGoalWorld(goalYaml('{ maxRuns: 1, noProgress: 9 }'));
    await look(place, {});
    await place.turn();
    await publish(place, await place.claim(), 'b');
    await place.turn();
    await look(place, { version: 'b'.repeat(40), ref: BRANCH });
    expect(await place.turn()).toEqual([{ kind: 'given-up' }]);
    expect(await place.goal()).toMatchObject({ state: 'given-up', reason: 'GOAL_GIVEN_UP', runs: 1 });
    const operations = await place.world.sql('select state from headgate.operation');
    expect(operations).toEqual([{ state: 'confirmed' }]);
  });

  it('I2: goes back to the default branch when its own is gone', async () => {
    const place = await aGoalWorld(goalYaml('{ maxRuns: 3, noProgress: 9 }'));
    await look(place, {});
    await place.turn();
    await publish(place, await place.claim(), 'b');
    await place.turn();
    place.reader.answer = { kind: 'gone' };
    const run = await look(place, {});
    expect(run.spec.target).toMatchObject({ ref: 'main' });
  });
});
