import { formatId, type ScheduleId, type ScheduleSpec, systemIds } from '@headgate/domain';
import type { Backfill, GoalDetail, Page, Schedule, ScheduleDetail, ScheduleRequest } from '@headgate/sdk';
import { goals, schedules, scheduleTicks } from '@headgate/store';
import { runInStatus } from '@headgate/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { aConsole, type TestConsole } from './a-console.js';

const SPEC: ScheduleSpec = {
  kind: 'schedule',
  ordinal: 0,
  cron: '@every 1h',
  timezone: 'UTC',
  startAt: null,
  endAt: null,
  exclude: [],
  jitterMs: 0,
  pauseOnFailure: false,
  overlap: 'skip',
  catchUp: { mode: 'none', windowMs: 0, max: 1 },
};

describe('what operators do with a schedule', () => {
  let test: TestConsole;
  let id: ScheduleId;
  let path: string;
  /** On the hour, three hours ago. */
  const ANCHOR = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - 3 * 3_600_000);

  beforeAll(async () => {
    test = await aConsole();
    id = systemIds.next('sch');
    path = `/v1/schedules/${formatId('sch', id)}`;
    const { id: tenantId, policyVersion } = test.tenant;
    await test.store.service.use(async (c) => {
      const row = { id, tenantId, route: 'tidy', ordinal: 0, spec: SPEC, policyVersion, nextAt: new Date(0) };
      await schedules.ensure(c, row);
      await c.query('update headgate.schedule set anchor_at = $2 where id = $1', [id, ANCHOR]);
    });
  });

  const post = <T>(rest: string, body: unknown): Promise<T> =>
    test.json<T>(`${path}${rest}`, { method: 'POST', body });

  it('I2: pause, with a note and who did it, and resume; repeated, both are the same', async () => {
    const paused = await post<ScheduleDetail>('/pause', { note: 'release week' });
    expect(paused).toMatchObject({
      state: 'paused',
      note: 'release week',
      pausedBy: 'token:admin',
      nextAt: null,
    });
    expect((await post<ScheduleDetail>('/pause', { note: 'other' })).note).toBe('release week');
    const resumed = await post<ScheduleDetail>('/resume', {});
    expect(resumed).toMatchObject({ state: 'active', note: null, pausedBy: null });
    expect(resumed.counts).toEqual([{ origin: 'timer', bucket: 'paused', total: 3 }]);
    await post('/resume', {});
    const events = await test.store.service.use((c) =>
      c.query<{ type: string; actor: string }>(
        `select type, actor from headgate.run_event where type like 'schedule.%' order by id`,
      ),
    );
    expect(events).toEqual([
      { type: 'schedule.paused', actor: 'token:admin' },
      { type: 'schedule.resumed', actor: 'token:admin' },
    ]);
  });

  it('I2: run now, as a request that says how far a ticker is with it', async () => {
    const request = await post<ScheduleRequest>('/trigger', {
      overlap: 'allowAll',
      reason: 'after the incident',
    });
    expect(request).toMatchObject({
      kind: 'trigger',
      state: 'pending',
      overlap: 'allowAll',
      requestedBy: 'token:admin',
    });
    expect(await test.json(`${path}/requests/${request.id}`)).toEqual(request);
    const { requests } = await test.json<ScheduleDetail>(path);
    expect(requests).toContainEqual(request);
  });

  it('INV-SC5: a back-fill is counted before it runs, leaves out what was fired, and is bounded', async () => {
    const at = (hours: number) => new Date(ANCHOR.getTime() + hours * 3_600_000);
    await test.store.service.use((c) =>
      scheduleTicks.record(c, [
        {
          scheduleId: id,
          origin: 'timer',
          nominalAt: at(2),
          untilAt: at(2),
          target: '42',
          tenantId: test.tenant.id,
          count: 1,
          bucket: 'fired',
          reasonCode: 'ADMITTED',
          receiptId: null,
        },
      ]),
    );
    const span = { from: at(1).toISOString(), until: at(3).toISOString() };
    const dry = await post<Backfill>('/backfill', { ...span, dryRun: true });
    const first = [at(1).toISOString(), at(3).toISOString()];
    expect(dry).toEqual({ dryRun: true, times: 3, alreadyFired: 1, first, request: null });
    const real = await post<Backfill>('/backfill', span);
    expect(real.request).toMatchObject({
      kind: 'backfill',
      state: 'pending',
      fromAt: span.from,
      untilAt: span.until,
    });
    for (const [body, words] of [
      [{ from: span.until, until: span.from }, 'before'],
      [{ from: span.from, until: '2999-01-01T00:00:00Z' }, 'ahead'],
      [{ from: '2020-01-01T00:00:00Z', until: span.until }, 'at most 1000'],
    ] as const) {
      const refused = await test.ask(`${path}/backfill`, { method: 'POST', body });
      expect(refused.status).toBe(400);
      expect(JSON.stringify(await refused.json())).toContain(words);
    }
  });

  it('shows the same in the list', async () => {
    const { items } = await test.json<Page<Schedule>>('/v1/schedules');
    expect(items[0]).toMatchObject({
      id: formatId('sch', id),
      next: expect.any(Array),
      exclude: [],
      startAt: null,
    });
  });
});

describe('what operators do with a goal', () => {
  it('I2: pause, resume and reset; not while a run of it lives, and what has ended only by a reset', async () => {
    const test = await aConsole();
    const id = systemIds.next('goal');
    const { id: tenantId, policyVersion } = test.tenant;
    const run = await runInStatus(test.store, 'RUNNING', { tenant: test.tenant });
    await test.store.service.use((c) =>
      goals.ensure(c, {
        id,
        tenantId,
        route: 'green',
        ordinal: 0,
        target: '42',
        repository: 'acme/api',
        spec: {
          kind: 'goal',
          ordinal: 0,
          observe: { kind: 'command', command: 'npm test', timeoutMs: 1_000 },
          until: { source: 'observation.exitCode == 0' },
          cadence: '@every 10m',
          timezone: 'UTC',
          stop: { maxRuns: 3, deadlineMs: 86_400_000, noProgress: 3, maxCostUsd: null },
        },
        policyVersion,
      }),
    );
    const path = `/v1/goals/${formatId('goal', id)}`;
    const post = (rest: string, body: unknown = {}) => test.ask(`${path}${rest}`, { method: 'POST', body });
    const set = (change: string) =>
      test.store.service.use((c) => c.query(`update headgate.goal set ${change}`));

    expect(await test.json<GoalDetail>(path)).toMatchObject({
      state: 'active',
      until: 'observation.exitCode == 0',
    });
    expect(await (await post('/pause', { note: 'later' })).json()).toMatchObject({
      state: 'paused',
      note: 'later',
    });
    expect(await (await post('/resume')).json()).toMatchObject({ state: 'active', note: null });
    await set(`phase = 'working', run_id = '${run.runId}', runs = 2`);
    const busy = await post('/reset', { reason: 'again' });
    expect(busy.status).toBe(409);
    expect(await busy.json()).toMatchObject({
      code: 'WRONG_STATE',
      detail: expect.stringContaining('not ended'),
    });
    await set(`phase = 'idle', run_id = null, state = 'given-up'`);
    expect((await post('/resume')).status).toBe(409);
    expect(await (await post('/reset')).json()).toMatchObject({ state: 'active', runs: 0, epoch: 2 });
  });
});
