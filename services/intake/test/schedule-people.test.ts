/** What people do with schedules: pause, run now, back-fill; and what pauses them by themselves. */
import type { Admission } from '@headgate/admission';
import { type ScheduleId, systemIds } from '@headgate/domain';
import { pauseSchedule, requestTicks, resumeSchedule, scheduleRequests } from '@headgate/store';
import { describe, expect, it } from 'vitest';
import { claimRuns, dispatchedItems, finishRun } from '../../../test/world/claims.js';
import { aDispatcher, anAdmission, aWorker } from '../../../test/world/world.js';
import { Heads } from '../src/repositories/heads.js';
import { pauseFailed } from '../src/schedule/pause-on-failure.js';
import { performRequest } from '../src/schedule/perform-request.js';
import {
  aScheduleWorld,
  head,
  runLines,
  type ScheduleWorld,
  scheduleLines,
  scheduleYaml,
  tickLines,
} from './schedule-world.js';

/** The version is the nominal time, so that each tick is work of its own. */
const BY_TIME = `    repositories: [ acme/api ]
    work: { version: "{{ event.nominalAt }}" }`;

async function idOf(place: ScheduleWorld): Promise<ScheduleId> {
  const [line] = await scheduleLines(place.world);
  if (line === undefined) throw new Error('there is no schedule');
  return line.id;
}

async function ask(place: ScheduleWorld, change: Partial<Parameters<typeof requestTicks>[2]> = {}) {
  const request = {
    id: systemIds.next('sreq'),
    kind: 'trigger',
    overlap: null,
    span: null,
    reason: null,
  } as const;
  const pool = place.world.database.service;
  return requestTicks(pool, await idOf(place), { ...request, ...change }, { actor: 'token:ada' });
}

/** Every ticker's look at what was asked, until nothing is left. */
async function perform(place: ScheduleWorld, admission: Admission = place.admission) {
  const pool = place.world.database.service;
  const active = place.world.active;
  for (;;) {
    const pending = await pool.use((c) => scheduleRequests.pending(c, 10));
    if (pending.length === 0) return;
    for (const request of pending) {
      await performRequest(request, { pool, admission, heads: new Heads(place.reader), active });
    }
  }
}

const origins = async ({ world }: ScheduleWorld) =>
  world.sql<{ origin: string; bucket: string; reason: string }>(
    'select origin, bucket, reason_code as reason from headgate.schedule_tick order by nominal_at, origin',
  );

describe('run now', () => {
  it('INV-SC3: is a tick of its own beside the timer’s, under the schedule’s overlap rule or the given one', async () => {
    const place = await aScheduleWorld(scheduleYaml('cron: "@every 1h"'));
    await ask(place);
    await perform(place);
    expect(await origins(place)).toEqual([{ origin: 'trigger', bucket: 'fired', reason: 'ADMITTED' }]);
    const [receipt] = await place.world.sql<Record<string, unknown>>('select * from headgate.receipt');
    expect(receipt).toMatchObject({ trigger: 'schedule', via: 'api', route: 'tidy' });

    place.reader.answer = head('b');
    await ask(place);
    await perform(place);
    await ask(place, { overlap: 'bufferOne' });
    await perform(place);
    expect((await origins(place)).map((tick) => tick.bucket)).toEqual(['fired', 'skipped', 'buffered']);
    expect(await runLines(place.world)).toHaveLength(2);
    const requests = await place.world.sql('select state, ticks from headgate.schedule_request order by id');
    expect(requests).toEqual(Array(3).fill({ state: 'done', ticks: 1 }));
    const events = await place.world.sql(
      "select actor from headgate.run_event where type = 'schedule.triggered'",
    );
    expect(events).toEqual(Array(3).fill({ actor: 'token:ada' }));
  });

  it('I2: is done while the schedule is paused, and refused when it is gone', async () => {
    const place = await aScheduleWorld(scheduleYaml('cron: "@every 1h"'));
    const id = await idOf(place);
    await pauseSchedule(place.world.database.service, id, { actor: 'ada', note: null });
    await ask(place);
    await perform(place);
    expect(await runLines(place.world)).toHaveLength(1);
    await ask(place);
    await place.world.sql("update headgate.schedule set state = 'removed', next_at = null");
    await perform(place);
    const [last] = await place.world.sql<Record<string, unknown>>(
      'select state, detail from headgate.schedule_request order by id desc limit 1',
    );
    expect(last).toEqual({ state: 'refused', detail: expect.stringContaining('no longer') });
  });

  it('INV-SC1: several tickers do it once; a crash before the commit leaves it to be done', async () => {
    const place = await aScheduleWorld(scheduleYaml('cron: "@every 1h"'));
    await ask(place);
    const crashing = {
      within: async (...args: Parameters<Admission['within']>) => {
        await place.admission.within(...args);
        throw new Error('the process ends here');
      },
    } as unknown as Admission;
    await expect(perform(place, crashing)).rejects.toThrow('ends here');
    expect(await runLines(place.world)).toEqual([]);
    const others = [anAdmission(place.world), anAdmission(place.world)];
    await Promise.all([perform(place), ...others.map(({ admission }) => perform(place, admission))]);
    expect(await runLines(place.world)).toHaveLength(1);
    expect(await origins(place)).toHaveLength(1);
  });
});

describe('overlap of what a person asks for', () => {
  it.each(['cancelOther', 'terminateOther'] as const)(
    'INV-SC3: %s replaces the timer’s run, and each the one before',
    async (overlap) => {
      const place = await aScheduleWorld(scheduleYaml('cron: "@every 1h"', BY_TIME));
      await place.makeDue();
      await place.turn();
      await ask(place, { overlap });
      await perform(place);
      await ask(place, { overlap });
      await perform(place);
      const statuses = (await runLines(place.world)).map((run) => run.status);
      expect(statuses.at(-1)).toBe('QUEUED');
      expect(statuses.slice(0, -1)).toEqual(
        Array(2).fill(overlap === 'cancelOther' ? 'SUPERSEDED' : 'CANCELLED'),
      );
    },
  );
});

describe('a back-fill', () => {
  it('INV-SC5: runs the times of its span that were not fired, both ends included; asked again, it makes nothing new', async () => {
    const place = await aScheduleWorld(scheduleYaml('cron: "@every 1h", overlap: allowAll', BY_TIME));
    await place.world.sql(
      `update headgate.schedule set anchor_at = date_trunc('hour', now()) - interval '5 hours', last_nominal_at = null,
              next_at = now() - interval '1 second'`,
    );
    await place.turn();
    expect((await tickLines(place.world)).map((tick) => [tick.bucket, tick.count])).toEqual([
      ['missed', 4],
      ['fired', 1],
    ]);
    const [line] = await scheduleLines(place.world);
    const until = line?.lastNominalAt ?? new Date(0);
    const span = { from: new Date(until.getTime() - 3 * 3_600_000), until };
    await ask(place, { kind: 'backfill', span });
    await perform(place);
    const filled = async () => (await origins(place)).filter((tick) => tick.origin === 'backfill');
    expect(await filled()).toEqual(
      Array(3).fill({ origin: 'backfill', bucket: 'fired', reason: 'ADMITTED' }),
    );
    expect(await runLines(place.world)).toHaveLength(4);
    await ask(place, { kind: 'backfill', span });
    await perform(place);
    expect(await filled()).toHaveLength(3);
    expect(await runLines(place.world)).toHaveLength(4);
  });

  it('INV-SC3: of more times than one transaction holds goes on in steps, under the given rule', async () => {
    const place = await aScheduleWorld(scheduleYaml('cron: "@every 1m", catchUp: { mode: none }', BY_TIME));
    await place.world.sql(
      `update headgate.schedule set anchor_at = date_trunc('minute', now()) - interval '250 minutes',
              last_nominal_at = now(), next_at = now() + interval '1 hour'`,
    );
    const [row] = await place.world.sql<{ from: Date; until: Date }>(
      'select anchor_at as "from", anchor_at + interval \'230 minutes\' as until from headgate.schedule',
    );
    if (row === undefined) throw new Error('no schedule');
    await ask(place, { kind: 'backfill', overlap: 'skip', span: row });
    await perform(place);
    const ticks = await origins(place);
    expect(ticks.filter((tick) => tick.bucket === 'fired')).toHaveLength(1);
    expect(ticks.filter((tick) => tick.bucket === 'skipped')).toHaveLength(ticks.length - 1);
    expect(ticks.length).toBe(231);
    const [request] = await place.world.sql('select state, ticks from headgate.schedule_request');
    expect(request).toEqual({ state: 'done', ticks: ticks.length });
  });
});

describe('a pause', () => {
  it('I2: lets times pass and counts them; a second pause keeps the first one’s note', async () => {
    const place = await aScheduleWorld(scheduleYaml('cron: "@every 1m", catchUp: { mode: all, window: 1d }'));
    const pool = place.world.database.service;
    const id = await idOf(place);
    expect(await pauseSchedule(pool, id, { actor: 'ada', note: 'a release' })).toBe('done');
    expect(await pauseSchedule(pool, id, { actor: 'eve', note: 'other' })).toBe('already');
    await place.world.sql(
      "update headgate.schedule set anchor_at = now() - interval '10 minutes 5 seconds', last_nominal_at = null",
    );
    expect(await place.turn()).toEqual([]);
    expect(await resumeSchedule(pool, id, { actor: 'ada' })).toBe('done');
    expect(await resumeSchedule(pool, id, { actor: 'ada' })).toBe('already');
    await place.turn();
    expect((await tickLines(place.world)).map((tick) => [tick.bucket, tick.reason, tick.count])).toEqual([
      ['paused', 'PAUSED', 10],
    ]);
    const counts = await place.world.sql('select origin, bucket, total::int from headgate.schedule_count');
    expect(counts).toEqual([{ origin: 'timer', bucket: 'paused', total: 10 }]);
    expect(await runLines(place.world)).toEqual([]);
  });

  it('I2: pauseOnFailure pauses it when one of its runs fails for good, and only that', async () => {
    const place = await aScheduleWorld(
      scheduleYaml('cron: "@every 1h", pauseOnFailure: true', `${BY_TIME}\n    retry: { maxAttempts: 1 }`),
    );
    const { world } = place;
    const worker = await aWorker(world, 5);
    const dispatcher = aDispatcher(world);
    const runOnce = async (kind: 'failed' | 'cancelled') => {
      await place.makeDue();
      await place.turn();
      await dispatcher.scan();
      await dispatcher.turn({ wait: true });
      const [run] = await claimRuns(world, worker, await dispatchedItems(world));
      if (run === undefined) throw new Error('nothing was claimed');
      const failed = { kind, reasonCode: 'VERIFIER_FAILED', detail: null, retryAfterMs: null } as const;
      await finishRun(world, run, kind === 'failed' ? { ...failed, kind } : { kind });
    };
    await runOnce('cancelled');
    expect(await pauseFailed(world.database.service)).toBe(0);
    await runOnce('failed');
    await place.makeDue();
    expect(await place.turn()).toEqual([{ kind: 'paused' }]);
    const [row] = await world.sql<Record<string, unknown>>(
      'select state, note, paused_by from headgate.schedule',
    );
    expect(row).toEqual({
      state: 'paused',
      paused_by: 'schedule',
      note: expect.stringMatching(/^run_.* failed with/),
    });
    await resumeSchedule(world.database.service, await idOf(place), { actor: 'ada' });
    expect(await pauseFailed(world.database.service)).toBe(0);
    await runOnce('failed');
    expect(await pauseFailed(world.database.service)).toBe(1);
  });
});
