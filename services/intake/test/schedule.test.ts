import type { Admission } from '@headgate/admission';
import type { SourceReader } from '@headgate/sources';
import { waitForSignal } from '@headgate/telemetry';
import { eventually } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { claimRuns, dispatchedItems } from '../../../test/world/claims.js';
import { policyFrom } from '../../../test/world/policy.js';
import { aContext, served } from '../../../test/world/service.js';
import { aDispatcher, anAdmission, aWorker, aWorld } from '../../../test/world/world.js';
import { createIntake } from '../src/index.js';
import {
  aScheduleWorld,
  head,
  runLines,
  StagedReader,
  scheduleLines,
  scheduleYaml,
  tickLines,
} from './schedule-world.js';

const HOURLY = scheduleYaml('cron: "@every 1h"');

describe('the rows of schedules', () => {
  it('I2: keep their id while the schedule stays, begin anew when it changes, and are retired with their route', async () => {
    const { world, sync, turn } = await aScheduleWorld(HOURLY);
    const [first] = await scheduleLines(world);
    expect(first).toMatchObject({ route: 'tidy', ordinal: 0, state: 'active' });
    expect(first?.nextAt?.getTime()).toBeGreaterThan(Date.now() + 50 * 60_000);

    await sync(HOURLY);
    expect(await scheduleLines(world)).toEqual([first]);

    await world.sql("update headgate.schedule set last_nominal_at = now() - interval '3 hours'");
    await sync(scheduleYaml('cron: "@every 2h"'));
    await turn();
    const [changed] = await scheduleLines(world);
    expect(changed?.id).toBe(first?.id);
    expect(changed?.nextAt?.getTime()).toBeGreaterThan(Date.now() + 110 * 60_000);
    // What the old schedule had not settled is not fired late, and not lost from the count.
    expect(await tickLines(world)).toMatchObject([
      { bucket: 'discarded', reason: 'SCHEDULE_CHANGED', count: 3 },
    ]);

    await sync(scheduleYaml('cron: "@every 2h"').replace('tidy:', 'other:'));
    expect((await scheduleLines(world)).map((line) => [line.route, line.state])).toEqual([
      ['other', 'active'],
      ['tidy', 'removed'],
    ]);
  });
});

describe('a tick', () => {
  it('I3: is one run of the head it found, with a receipt that names schedule and nominal time', async () => {
    const { world, makeDue, turn } = await aScheduleWorld(HOURLY);
    await makeDue();
    expect(await turn()).toEqual([{ kind: 'settled', ticks: 1 }]);
    const [line] = await scheduleLines(world);
    expect(await runLines(world)).toEqual([{ status: 'QUEUED', version: 'a'.repeat(40), exclusive: true }]);
    const [receipt] = await world.sql<Record<string, unknown>>('select * from headgate.receipt');
    expect(receipt).toMatchObject({
      trigger: 'schedule',
      via: 'timer',
      type: 'schedule.tick',
      route: 'tidy',
    });
    expect(receipt?.['source']).toMatch(/^schedule\/sch_/);
    expect(receipt?.['event_id']).toBe(
      `${line?.lastNominalAt?.toISOString()}/${(await tickLines(world))[0]?.target}`,
    );
    expect(receipt?.['work_key']).toMatch(/^git:[0-9a-f]{32}\/schedule\/sch_/);
    expect(await tickLines(world)).toMatchObject([{ bucket: 'fired', reason: 'ADMITTED', count: 1 }]);
    expect(await turn()).toEqual([]);
  });

  it('I2: on an unchanged head finds nothing: a no-work receipt with its watermark, and no run', async () => {
    const { world, makeDue, turn } = await aScheduleWorld(HOURLY);
    await makeDue();
    await turn();
    await world.sql("update headgate.run set status = 'EXPIRED'");
    await world.sql("update headgate.task_version set outcome = 'EXPIRED'");
    await makeDue();
    await turn();
    expect((await tickLines(world)).map((tick) => tick.reason)).toEqual(['ADMITTED', 'NOTHING_FOUND']);
    expect(await runLines(world)).toHaveLength(1);
    const receipts = await world.sql('select outcome, watermark, run_id from headgate.receipt order by id');
    expect(receipts).toMatchObject([
      { outcome: 'accept', watermark: null },
      { outcome: 'no-work', watermark: 'a'.repeat(40), run_id: null },
    ]);
  });

  it('I2: of a route without a repository has its nominal time for a version', async () => {
    const yaml = `
version: 1
agents: { fixer: { runtime: command, command: [ node, fix.js ] } }
routes: { report: { on: [ { cron: "@every 1h" } ] } }`;
    const { world, makeDue, turn } = await aScheduleWorld(yaml);
    await makeDue();
    await turn();
    const [line] = await scheduleLines(world);
    expect(await runLines(world)).toMatchObject([{ version: line?.lastNominalAt?.toISOString() }]);
    expect((await tickLines(world)).map((tick) => tick.target)).toEqual(['']);
  });

  it('INV-SC1: is fired once by several tickers at once', async () => {
    const { world, makeDue, turn } = await aScheduleWorld(HOURLY);
    const others = [anAdmission(world), anAdmission(world), anAdmission(world)];
    await makeDue();
    await Promise.all([turn(), ...others.map(({ admission }) => turn(admission))]);
    expect(await runLines(world)).toHaveLength(1);
    expect(await tickLines(world)).toHaveLength(1);
    expect(await world.sql('select 1 from headgate.receipt')).toHaveLength(1);
  });

  it('INV-SC2: stands or falls as a whole: a crash before its commit leaves it due', async () => {
    const { world, admission, makeDue, turn } = await aScheduleWorld(HOURLY);
    await makeDue();
    const crashing = {
      within: async (...args: Parameters<Admission['within']>) => {
        await admission.within(...args);
        throw new Error('the process ends here');
      },
    } as unknown as Admission;
    await expect(turn(crashing)).rejects.toThrow('ends here');
    expect(await runLines(world)).toEqual([]);
    expect(await world.sql('select 1 from headgate.receipt')).toEqual([]);
    expect(await tickLines(world)).toEqual([]);
    await turn();
    expect(await runLines(world)).toHaveLength(1);
  });

  it('I2: a clock that was set back fires nothing twice', async () => {
    const { world, makeDue, turn } = await aScheduleWorld(HOURLY);
    await makeDue();
    await turn();
    // As the row looks to a database whose clock went back by two hours.
    await world.sql(
      "update headgate.schedule set last_nominal_at = now() + interval '2 hours', next_at = now() - interval '1 s'",
    );
    expect(await turn()).toEqual([{ kind: 'settled', ticks: 0 }]);
    expect(await tickLines(world)).toHaveLength(1);
    const [line] = await scheduleLines(world);
    expect(line?.lastNominalAt?.getTime()).toBeGreaterThan(Date.now() + 100 * 60_000);
    expect(line?.nextAt?.getTime()).toBeGreaterThan(line?.lastNominalAt?.getTime() ?? 0);
  });

  it('I6: waits while its repository cannot be read, and is fired when it can', async () => {
    const { world, reader, makeDue, turn } = await aScheduleWorld(HOURLY);
    await makeDue();
    reader.answer = { kind: 'unavailable', detail: 'The disk is gone.' };
    expect(await turn()).toEqual([{ kind: 'held-back', detail: 'The disk is gone.' }]);
    expect(await tickLines(world)).toEqual([]);
    const [line] = await scheduleLines(world);
    expect(line?.nextAt?.getTime()).toBeGreaterThan(Date.now() + 5_000);
    reader.answer = head('b');
    await world.sql("update headgate.schedule set next_at = now() - interval '1 ms'");
    await turn();
    expect(await runLines(world)).toMatchObject([{ version: 'b'.repeat(40) }]);
  });
});

describe('overlap', () => {
  /** Two ticks, the second on a new head while the first one's run still waits or runs. */
  async function twoTicks(overlap: string, isRunning = false) {
    const place = await aScheduleWorld(scheduleYaml(`cron: "@every 1h", overlap: ${overlap}`));
    await place.makeDue();
    await place.turn();
    if (isRunning) {
      const { world } = place;
      const worker = await aWorker(world, 2);
      const dispatcher = aDispatcher(world);
      await dispatcher.scan();
      await dispatcher.turn({ wait: true });
      await claimRuns(world, worker, await dispatchedItems(world));
    }
    place.reader.answer = head('b');
    await place.makeDue();
    await place.turn();
    return place;
  }

  it('INV-SC3: skip settles the tick without a run, and says so on a receipt', async () => {
    const { world } = await twoTicks('skip');
    expect((await tickLines(world)).map((tick) => [tick.bucket, tick.reason])).toEqual([
      ['fired', 'ADMITTED'],
      ['skipped', 'OVERLAP_SKIPPED'],
    ]);
    const [receipt] = await world.sql<Record<string, unknown>>(
      "select outcome, route from headgate.receipt where reason_code = 'OVERLAP_SKIPPED'",
    );
    expect(receipt).toEqual({ outcome: 'no-work', route: 'tidy' });
    expect(await runLines(world)).toHaveLength(1);
  });

  it('INV-SC3: allowAll lets them run side by side', async () => {
    const { world } = await twoTicks('allowAll');
    expect(await runLines(world)).toEqual([
      { status: 'QUEUED', version: 'a'.repeat(40), exclusive: false },
      { status: 'QUEUED', version: 'b'.repeat(40), exclusive: false },
    ]);
  });

  it('INV-SC3: bufferOne keeps one behind the running one, and skips the next', async () => {
    const { world, reader, makeDue, turn } = await twoTicks('bufferOne');
    reader.answer = head('c');
    await makeDue();
    await turn();
    expect((await tickLines(world)).map((tick) => tick.bucket)).toEqual(['fired', 'buffered', 'skipped']);
    expect(await runLines(world)).toEqual([
      { status: 'QUEUED', version: 'a'.repeat(40), exclusive: true },
      { status: 'QUEUED', version: 'b'.repeat(40), exclusive: true },
    ]);
    await aWorker(world, 5);
    const dispatcher = aDispatcher(world);
    await dispatcher.scan();
    expect(await dispatcher.turn({ wait: true })).toBe(1);
  });

  it('INV-SC3: bufferAll keeps all, one at a time', async () => {
    const { world, reader, makeDue, turn } = await twoTicks('bufferAll');
    reader.answer = head('c');
    await makeDue();
    await turn();
    expect((await runLines(world)).map((run) => [run.status, run.exclusive])).toEqual([
      ['QUEUED', true],
      ['QUEUED', true],
      ['QUEUED', true],
    ]);
  });

  it('INV-SC3: cancelOther replaces a waiting run at once, and asks a running one to stop', async () => {
    const waiting = await twoTicks('cancelOther');
    expect((await runLines(waiting.world)).map((run) => run.status)).toEqual(['SUPERSEDED', 'QUEUED']);
    const running = await twoTicks('cancelOther', true);
    expect((await runLines(running.world)).map((run) => run.status)).toEqual(['CANCEL_REQUESTED', 'QUEUED']);
  });

  it('INV-SC3: terminateOther stops even a run that was about to finish', async () => {
    const place = await aScheduleWorld(scheduleYaml('cron: "@every 1h", overlap: terminateOther'));
    const { world, makeDue, turn, reader } = place;
    await makeDue();
    await turn();
    const worker = await aWorker(world, 2);
    const dispatcher = aDispatcher(world);
    await dispatcher.scan();
    await dispatcher.turn({ wait: true });
    await claimRuns(world, worker, await dispatchedItems(world));
    await world.sql("update headgate.run set status = 'FINALIZING'");
    reader.answer = head('b');
    await makeDue();
    await turn();
    expect((await runLines(world)).map((run) => run.status)).toEqual(['CANCEL_REQUESTED', 'QUEUED']);
  });
});

describe('downtime', () => {
  /** `@every 1m`, down for five minutes and a half. */
  async function afterDowntime(catchUp: string) {
    const place = await aScheduleWorld(
      scheduleYaml(`cron: "@every 1m", overlap: allowAll, catchUp: ${catchUp}`, ''),
    );
    await place.world.sql(
      `update headgate.schedule set anchor_at = now() - interval '5 minutes 30 seconds', last_nominal_at = null,
              next_at = now() - interval '4 minutes'`,
    );
    await place.turn();
    return place;
  }

  it('INV-SC2: none runs the tick that is still on time, and counts the others as missed', async () => {
    const { world } = await afterDowntime('{ mode: none }');
    expect((await tickLines(world)).map((tick) => [tick.bucket, tick.count])).toEqual([
      ['missed', 4],
      ['fired', 1],
    ]);
  });

  it('INV-SC2: all runs the newest, up to its bound', async () => {
    const { world } = await afterDowntime('{ mode: all, window: 1h, max: 3 }');
    expect((await tickLines(world)).map((tick) => [tick.bucket, tick.count])).toEqual([
      ['missed', 2],
      ['fired', 1],
      ['fired', 1],
      ['fired', 1],
    ]);
    const [receipt] = await world.sql<{ message: string; outcome: string }>(
      "select message, outcome from headgate.receipt where reason_code = 'MISSED_CATCHUP'",
    );
    expect(receipt).toMatchObject({
      outcome: 'no-work',
      message: expect.stringContaining('2 nominal time(s)'),
    });
  });
});

describe('the ticker', () => {
  it('C3: fires by itself what the policy schedules, again and again', async () => {
    const world = await aWorld(await policyFrom(scheduleYaml('cron: "@every 1s", overlap: allowAll')));
    const reader = new StagedReader();
    let ticks = 0;
    const seen = waitForSignal(
      'schedule.fired',
      (detail) => {
        ticks += Number(detail['ticks'] ?? 0) > 0 ? 1 : 0;
        return ticks === 3;
      },
      30_000,
    );
    await served(createIntake(await aContext(world), { env: {}, reader }));
    await seen;
    // A ticker that a busy machine delays by a second has missed a time, and fires the next.
    const fired = (await tickLines(world)).filter((tick) => tick.bucket !== 'missed');
    const reasons = fired.map((tick) => tick.reason);
    expect(reasons.slice(0, 3)).toEqual(['ADMITTED', 'NOTHING_FOUND', 'NOTHING_FOUND']);
  });

  it('a schedule that fails is put off, and does not stop the others', async () => {
    const yaml = `
version: 1
sources:
  forge: { kind: git, repositories: { acme/api: { url: /nowhere/api.git }, acme/web: { url: /nowhere/web.git } } }
agents: { fixer: { runtime: command, command: [ node, fix.js ] } }
routes:
  broken: { on: [ { cron: "@every 1s" } ], repositories: [ acme/api ] }
  sound: { on: [ { cron: "@every 1s" } ], repositories: [ acme/web ] }`;
    const world = await aWorld(await policyFrom(yaml));
    const reader: SourceReader = {
      readHead: ({ repository }) =>
        repository.fullName === 'acme/api'
          ? Promise.reject(new Error('a reader that breaks its promise'))
          : Promise.resolve(head('a')),
    };
    const fired = waitForSignal(
      'schedule.fired',
      (detail) => detail['route'] === 'sound' && detail['ticks'] === 1,
      20_000,
    );
    await served(createIntake(await aContext(world), { env: {}, reader }));
    await fired;
    // Which of the two comes first in a look is not said.
    const broken = await eventually(
      async () => {
        const [line] = await scheduleLines(world);
        return (line?.nextAt?.getTime() ?? 0) > Date.now() + 30_000 ? line : null;
      },
      { what: 'the one that fails is put off' },
    );
    expect(broken.route).toBe('broken');
    const ticked = await world.sql<{ id: string }>(
      'select distinct schedule_id as id from headgate.schedule_tick',
    );
    expect(ticked.map((tick) => tick.id)).not.toContain(broken.id);
  });
});
