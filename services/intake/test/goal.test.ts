import type { Admission } from '@headgate/admission';
import { systemIds } from '@headgate/domain';
import { cancelRun, cancelTask, pauseGoal, resetGoal, resumeGoal } from '@headgate/store';
import { describe, expect, it } from 'vitest';
import { anAdmission } from '../../../test/world/world.js';
import { aGoalWorld, type GoalWorld, goalReceipts, goalYaml, observationLines } from './goal-world.js';

const BOUNDED = goalYaml('{ maxRuns: 2, noProgress: 9 }');

/** Looks once, with what was seen. */
async function lookOnce(place: GoalWorld, facts: Parameters<GoalWorld['observe']>[1] = {}) {
  await place.makeDue();
  await place.turn();
  await place.observe(await place.claim(), facts);
  return place.turn();
}

/** The agent's run that waits, ended. */
async function workOnce(place: GoalWorld, costUsd = 0) {
  await place.finish(await place.claim(), { kind: 'succeeded', reasonCode: 'NO_CHANGE' }, { costUsd });
  return place.turn();
}

describe('a goal', () => {
  it('I2: is observed by a run without an agent; what holds is done, with a no-work receipt and its evidence', async () => {
    const place = await aGoalWorld(BOUNDED);
    const { world } = place;
    expect(await place.turn()).toMatchObject([{ kind: 'observing' }]);
    expect(await place.turn()).toEqual([]);
    const run = await place.claim();
    expect(run.spec.observe).toEqual({ kind: 'command', command: 'npm test', timeoutMs: 300_000 });
    expect(run.spec.workKey).toMatch(/^git:[0-9a-f]{32}\/goal\/goal_[0-9a-z]{26}\/observe$/);
    await place.observe(run, { exitCode: 0, output: 'all passed' });

    expect(await place.turn()).toEqual([{ kind: 'done' }]);

    expect(await place.goal()).toMatchObject({
      state: 'done',
      phase: 'idle',
      reason: 'NOTHING_FOUND',
      runs: 0,
    });
    expect(await goalReceipts(world)).toEqual([
      {
        outcome: 'no-work',
        reason: 'NOTHING_FOUND',
        trigger: 'goal',
        message: expect.stringContaining('observation.exitCode == 0'),
        watermark: 'a'.repeat(40),
      },
    ]);
    const [seen] = await world.sql<{ result: { output: string } }>('select result from headgate.observation');
    expect(seen?.result.output).toBe('all passed');
    await place.makeDue();
    expect(await place.turn()).toEqual([]);
  });

  it('I2: lets the agent work when it is open, one run at a time, with what was seen as its input', async () => {
    const place = await aGoalWorld(BOUNDED);
    expect(await lookOnce(place)).toMatchObject([{ kind: 'working' }]);
    expect(await place.goal()).toMatchObject({ state: 'active', phase: 'working', runs: 1 });
    await place.makeDue();
    expect(await place.turn()).toEqual([]);
    const run = await place.claim();
    expect(run.spec).toMatchObject({
      observe: null,
      inputs: { observation: { exitCode: 1, output: '1 failed' } },
    });
    expect(run.inputVersion).toBe('a'.repeat(40));
    expect(run.spec.workKey).toMatch(/\/goal\/goal_[0-9a-z]{26}$/);
    await place.finish(run, { kind: 'succeeded', reasonCode: 'SUCCEEDED' }, { costUsd: 1.5 });
    expect(await place.turn()).toMatchObject([{ kind: 'agent-ended' }]);
    expect(await place.goal()).toMatchObject({ phase: 'idle', costUsd: 1.5 });
    // It looks at once: the cadence is for those that wait.
    expect(await place.turn()).toMatchObject([{ kind: 'observing' }]);
    expect((await goalReceipts(place.world)).map((receipt) => receipt.reason)).toEqual(['ADMITTED']);
  });

  it('I2: tries the same commit again within its bounds, and is given up at the first one that is reached', async () => {
    const place = await aGoalWorld(BOUNDED);
    await lookOnce(place);
    await workOnce(place);
    expect(await lookOnce(place, { output: 'another failure' })).toMatchObject([{ kind: 'working' }]);
    const generations = await place.world.sql<{ generation: number }>(
      `select generation from headgate.run where spec ->> 'observe' is null order by id`,
    );
    expect(generations.map((run) => run.generation)).toEqual([1, 2]);
    await workOnce(place);
    expect(await lookOnce(place)).toEqual([{ kind: 'given-up' }]);
    const goal = await place.goal();
    expect(goal).toMatchObject({ state: 'given-up', reason: 'GOAL_GIVEN_UP', runs: 2, phase: 'idle' });
    expect(goal.note).toContain('"maxRuns"');
    const last = (await goalReceipts(place.world)).at(-1);
    expect(last).toMatchObject({
      outcome: 'reject',
      reason: 'GOAL_GIVEN_UP',
      message: expect.stringContaining('2 of 2'),
    });
    await place.makeDue();
    expect(await place.turn()).toEqual([]);
  });

  it.each([
    ['noProgress', '{ noProgress: 1 }', 0],
    ['maxCostUsd', '{ maxCostUsd: 2, noProgress: 9 }', 2],
  ])('I2: %s ends it as given up', async (bound, stop, costUsd) => {
    const place = await aGoalWorld(goalYaml(stop));
    await lookOnce(place);
    await workOnce(place, costUsd);
    expect(await lookOnce(place)).toEqual([{ kind: 'given-up' }]);
    expect((await place.goal()).note).toContain(`"${bound}"`);
  });

  it('I2: its deadline ends it without another look', async () => {
    const place = await aGoalWorld(goalYaml('{ deadline: 2h }'));
    await place.world.sql("update headgate.goal set started_at = now() - interval '3 hours'");
    await place.makeDue();
    expect(await place.turn()).toEqual([{ kind: 'given-up' }]);
    expect((await place.goal()).note).toContain('"deadline"');
    expect(await place.world.sql('select 1 from headgate.run')).toEqual([]);
  });

  it('I2: what cannot be told is neither done nor work: it has its receipt, and a person looks after five', async () => {
    const place = await aGoalWorld(goalYaml('{ maxRuns: 2 }', 'observation.json.errors == 0'));
    for (let n = 1; n <= 4; n += 1) expect(await lookOnce(place)).toEqual([{ kind: 'unknown' }]);
    expect(await lookOnce(place)).toEqual([{ kind: 'paused' }]);
    expect(await place.goal()).toMatchObject({ state: 'paused', runs: 0, observations: 5 });
    expect((await observationLines(place.world)).map((one) => one.outcome)).toEqual(Array(5).fill('unknown'));
    expect((await goalReceipts(place.world)).map((one) => one.reason)).toEqual(
      Array(5).fill('OBSERVATION_UNKNOWN'),
    );
  });
});

describe('people and goals', () => {
  it('I2: a reset begins anew: its bounds, and a new publication of its work', async () => {
    const place = await aGoalWorld(goalYaml('{ maxRuns: 1, noProgress: 9 }'));
    await lookOnce(place);
    await workOnce(place);
    await lookOnce(place);
    const { id, state } = await place.goal();
    expect(state).toBe('given-up');
    const pool = place.world.database.service;
    expect(await resumeGoal(pool, id as never, { actor: 'ada' })).toBe('ended');
    expect(await resetGoal(pool, id as never, { actor: 'ada', reason: 'again' })).toBe('done');
    expect(await place.goal()).toMatchObject({ state: 'active', runs: 0, epoch: 2, note: null });
    expect(await lookOnce(place)).toMatchObject([{ kind: 'working' }]);
    const runs = await place.world.sql<{ publication: number }>(
      `select publication from headgate.run where spec ->> 'observe' is null order by id`,
    );
    expect(runs.map((run) => run.publication)).toEqual([1, 2]);
    expect(await resetGoal(pool, id as never, { actor: 'ada', reason: null })).toBe('busy');
    const events = await place.world.sql<{ actor: string }>(
      "select actor from headgate.run_event where type = 'goal.reset'",
    );
    expect(events).toEqual([{ actor: 'ada' }]);
  });

  it('Q5: a cancelled run pauses it, and a cancelled task stays cancelled until it is reset', async () => {
    const place = await aGoalWorld(BOUNDED);
    await lookOnce(place);
    const pool = place.world.database.service;
    const { runId, id } = await place.goal();
    if (runId === null) throw new Error('no run');
    await cancelRun(pool, runId, { actor: 'ada', reason: null });
    expect(await place.turn()).toEqual([{ kind: 'paused' }]);
    expect(await place.goal()).toMatchObject({
      state: 'paused',
      note: expect.stringContaining('was cancelled'),
    });

    const [task] = await place.world.sql<{ id: string }>(
      "select id from headgate.task where work_key not like '%/observe'",
    );
    await cancelTask(pool, task?.id as never, { actor: 'ada', reason: null });
    expect(await resumeGoal(pool, id as never, { actor: 'ada' })).toBe('done');
    expect(await lookOnce(place)).toMatchObject([{ kind: 'refused', reasonCode: 'TASK_CANCELLED' }]);
    expect(await place.goal()).toMatchObject({ state: 'paused', note: expect.stringContaining('Reset') });
    expect(await resetGoal(pool, id as never, { actor: 'ada', reason: null })).toBe('done');
    expect(await lookOnce(place)).toMatchObject([{ kind: 'working' }]);
  });

  it('I2: a paused goal does nothing, also when what was under way ends meanwhile', async () => {
    const place = await aGoalWorld(BOUNDED);
    await place.turn();
    const pool = place.world.database.service;
    const { id } = await place.goal();
    expect(await pauseGoal(pool, id as never, { actor: 'ada', note: 'a release' })).toBe('done');
    expect(await pauseGoal(pool, id as never, { actor: 'eve', note: 'other' })).toBe('already');
    await place.observe(await place.claim());
    expect(await place.turn()).toEqual([]);
    expect(await place.goal()).toMatchObject({ state: 'paused', phase: 'observing', note: 'a release' });
    expect(await resumeGoal(pool, id as never, { actor: 'ada' })).toBe('done');
    expect(await place.turn()).toMatchObject([{ kind: 'working' }]);
  });

  it('I2: a changed goal begins anew, one whose route is gone is retired', async () => {
    const place = await aGoalWorld(BOUNDED);
    await lookOnce(place, { exitCode: 0 });
    expect((await place.goal()).state).toBe('done');
    await place.sync(goalYaml('{ maxRuns: 3 }'));
    expect(await place.goal()).toMatchObject({ state: 'active', epoch: 2 });
    await place.sync(BOUNDED.replace(/on: \[.*\]\n/, 'on: [ manual ]\n'));
    expect((await place.goal()).state).toBe('removed');
    expect(await place.turn()).toEqual([]);
  });
});

describe('keepers', () => {
  const crashing = (admission: Admission): Admission =>
    ({
      within: async (...args: Parameters<Admission['within']>) => {
        await admission.within(...args);
        throw new Error('the process ends here');
      },
    }) as unknown as Admission;

  it('I2: several at once do each step once, and a crash before its commit leaves nothing', async () => {
    const place = await aGoalWorld(BOUNDED);
    const { world } = place;
    const other = () => ({ admission: anAdmission(world).admission, ids: systemIds });
    await expect(place.turn({ admission: crashing(other().admission) })).rejects.toThrow('ends here');
    expect(await world.sql('select 1 from headgate.run')).toEqual([]);
    const looked = await Promise.all([place.turn(), place.turn(other()), place.turn(other())]);
    expect(looked.flat().filter((step) => step.kind === 'observing')).toHaveLength(1);
    await place.observe(await place.claim());
    await expect(place.turn({ admission: crashing(other().admission) })).rejects.toThrow('ends here');
    expect(await observationLines(world)).toEqual([]);
    expect(await place.goal()).toMatchObject({ phase: 'observing', runs: 0 });
    const concluded = await Promise.all([place.turn(), place.turn(other()), place.turn(other())]);
    expect(concluded.flat().filter((step) => step.kind === 'working')).toHaveLength(1);
    expect(await observationLines(world)).toEqual([{ outcome: 'open', number: 1, epoch: 1 }]);
    expect(await world.sql('select 1 from headgate.run')).toHaveLength(2);
  });
});
