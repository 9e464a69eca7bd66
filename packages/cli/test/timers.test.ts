import type { Backfill, GoalDetail, ScheduleDetail, ScheduleRequest } from '@headgate/sdk';
import { describe, expect, it } from 'vitest';
import { headgate, temporaryFolder } from './command-line.js';
import { fakeInstance, problem } from './instance.js';

const SCHEDULE: ScheduleDetail = {
  id: 'sch_01k',
  tenant: 'default',
  route: 'weekly-deps',
  ordinal: 0,
  cron: '0 3 * * 1',
  timezone: 'Europe/Berlin',
  startAt: null,
  endAt: '2026-12-31T22:59:59.999Z',
  exclude: ['12-24/01-02'],
  jitterMs: 0,
  overlap: 'skip',
  catchUp: { mode: 'latest', windowMs: 86_400_000, max: 1 },
  pauseOnFailure: false,
  state: 'paused',
  note: 'release week',
  pausedAt: '2026-01-31T13:50:00.000Z',
  pausedBy: 'token:ada',
  lastNominalAt: '2026-01-26T02:00:00.000Z',
  nextAt: null,
  recent: [
    {
      origin: 'timer',
      nominalAt: '2026-01-26T02:00:00.000Z',
      untilAt: '2026-01-26T02:00:00.000Z',
      count: 1,
      target: '42',
      bucket: 'fired',
      reasonCode: 'ADMITTED',
      receiptId: 'rcpt_01k',
      runId: 'run_01k',
    },
  ],
  next: ['2026-02-02T02:00:00.000Z'],
  counts: [
    { origin: 'timer', bucket: 'fired', total: 7 },
    { origin: 'trigger', bucket: 'fired', total: 1 },
  ],
  running: [],
  requests: [],
};
const REQUEST: ScheduleRequest = {
  id: 'sreq_01k',
  scheduleId: 'sch_01k',
  kind: 'trigger',
  overlap: null,
  fromAt: '2026-01-31T13:50:00.000Z',
  untilAt: '2026-01-31T13:50:00.000Z',
  state: 'pending',
  detail: null,
  ticks: 0,
  reason: null,
  requestedBy: 'token:ada',
  requestedAt: '2026-01-31T13:50:00.000Z',
  finishedAt: null,
};
const GOAL: GoalDetail = {
  id: 'goal_01k',
  tenant: 'default',
  route: 'no-fixme',
  ordinal: 0,
  repository: 'acme/api',
  until: 'observation.exitCode == 0',
  observe: 'command',
  cadence: '@every 10m',
  timezone: 'UTC',
  stop: { maxRuns: 3, deadlineMs: 86_400_000, noProgress: 3, maxCostUsd: 5 },
  state: 'given-up',
  stateAt: '2026-01-31T13:50:00.000Z',
  stateBy: 'goal',
  reasonCode: 'GOAL_GIVEN_UP',
  note: 'The agent ran 3 of 3 times.',
  receiptId: 'rcpt_02k',
  phase: 'idle',
  runId: null,
  epoch: 1,
  startedAt: '2026-01-31T12:50:00.000Z',
  deadlineAt: '2026-02-01T12:50:00.000Z',
  nextAt: null,
  observations: 4,
  runs: 3,
  costUsd: 1.5,
  noProgress: 2,
  unknowns: 0,
  recent: [
    {
      id: 'obs_01k',
      epoch: 1,
      number: 4,
      outcome: 'open',
      ref: 'main',
      version: '9f31c2aabb',
      result: { exitCode: 1 },
      detail: null,
      observedAt: '2026-01-31T13:50:00.000Z',
      runId: 'run_02k',
      receiptId: 'rcpt_02k',
    },
  ],
};
const page = (...items: unknown[]) => ({ status: 200, body: { items, nextCursor: null } });
const asked = (heard: readonly { method: string; url: string; body: string }[]) =>
  heard.map(({ method, url, body }) => [method, url, body === '' ? null : JSON.parse(body)]);

describe('headgate schedules', () => {
  it('I2: lists and describes: contract, totals, last times, and why it does not tick', async () => {
    const dataDir = await temporaryFolder();
    await fakeInstance(dataDir, ({ url }) =>
      url.startsWith('/v1/schedules/') ? { status: 200, body: SCHEDULE } : page(SCHEDULE),
    );
    expect((await headgate(['schedules'], { dataDir })).out).toContain('weekly-deps');
    const { out } = await headgate(['schedules', 'describe', 'sch_01k'], { dataDir });
    for (const words of [
      'release week',
      'token:ada',
      '7 fired, 1 fired (trigger)',
      '12-24/01-02',
      'run_01k',
      '2026-02-02T02:00:00.000Z',
    ]) {
      expect(out).toContain(words);
    }
    const json = await headgate(['schedules', 'describe', 'sch_01k', '--json'], { dataDir });
    expect(JSON.parse(json.out)).toEqual(SCHEDULE);
  });

  it('I2: pauses with a note, resumes, and waits until a run was triggered', async () => {
    const dataDir = await temporaryFolder();
    const { heard } = await fakeInstance(dataDir, ({ url, method }) => {
      if (url.includes('/requests/')) return { status: 200, body: { ...REQUEST, state: 'done', ticks: 1 } };
      if (url.endsWith('/trigger')) return { status: 202, body: REQUEST };
      return { status: method === 'GET' ? 200 : 202, body: SCHEDULE };
    });
    await headgate(['schedules', 'pause', 'sch_01k', '--note', 'release week'], { dataDir });
    await headgate(['schedules', 'resume', 'sch_01k'], { dataDir });
    const run = await headgate(['schedules', 'trigger', 'sch_01k', '--overlap', 'allowAll'], { dataDir });
    expect(run).toMatchObject({ code: 0, out: expect.stringContaining('is done: 1 tick.') });
    expect(asked(heard).slice(0, 4)).toEqual([
      ['POST', '/v1/schedules/sch_01k/pause', { note: 'release week' }],
      ['POST', '/v1/schedules/sch_01k/resume', {}],
      ['POST', '/v1/schedules/sch_01k/trigger', { overlap: 'allowAll' }],
      ['GET', '/v1/schedules/sch_01k/requests/sreq_01k', null],
    ]);
  });

  it('I2: a schedule or a goal is also known by its route, if that has exactly one', async () => {
    const dataDir = await temporaryFolder();
    const twins = ['sch_02k', 'sch_03k'].map((id) => ({ ...SCHEDULE, id, route: 'twice' }));
    const { heard } = await fakeInstance(dataDir, ({ url }) => {
      if (url.startsWith('/v1/schedules/')) return { status: 202, body: SCHEDULE };
      if (url.startsWith('/v1/goals/')) return { status: 202, body: GOAL };
      return url.startsWith('/v1/goals') ? page(GOAL) : page(SCHEDULE, ...twins);
    });
    expect(await headgate(['schedules', 'pause', 'weekly-deps'], { dataDir })).toMatchObject({ code: 0 });
    expect(await headgate(['goals', 'reset', 'no-fixme'], { dataDir })).toMatchObject({ code: 0 });
    expect(asked(heard).filter(([method]) => method === 'POST')).toEqual([
      ['POST', '/v1/schedules/sch_01k/pause', {}],
      ['POST', '/v1/goals/goal_01k/reset', {}],
    ]);
    expect(await headgate(['schedules', 'trigger', 'twice'], { dataDir })).toMatchObject({
      code: 2,
      note: expect.stringContaining('sch_02k, sch_03k'),
    });
    expect(await headgate(['goals', 'describe', 'nothing'], { dataDir })).toMatchObject({ code: 3 });
  });

  it('INV-SC5: says what a back-fill would run, and refuses a rule that is none', async () => {
    const dataDir = await temporaryFolder();
    const plan: Backfill = {
      dryRun: true,
      times: 5,
      alreadyFired: 2,
      first: ['2026-01-30T02:00:00.000Z'],
      request: null,
    };
    const { heard } = await fakeInstance(dataDir, () => ({ status: 202, body: plan }));
    const words = ['schedules', 'backfill', 'sch_01k', '--from', '1d', '--dry-run'];
    const { code, out } = await headgate(words, { dataDir });
    expect(code).toBe(0);
    expect(out).toContain('3 times would run; 2 of 5 were fired before.');
    expect(out).toContain('and 2 more');
    expect(asked(heard)[0]?.[2]).toEqual({
      from: '2026-01-30T13:50:10.000Z',
      until: '2026-01-31T13:50:10.000Z',
      dryRun: true,
    });
    const wrong = await headgate(['schedules', 'trigger', 'sch_01k', '--overlap', 'maybe'], { dataDir });
    expect(wrong.code).toBe(2);
  });

  it('ends with what the API says no with', async () => {
    const dataDir = await temporaryFolder();
    await fakeInstance(dataDir, () => problem(404, 'NOT_FOUND', 'Schedule sch_x is not known.'));
    expect((await headgate(['schedules', 'describe', 'sch_x'], { dataDir })).code).toBe(3);
  });
});

describe('headgate goals', () => {
  it('I2: lists and describes: bounds, progress, what it saw, and how it ended', async () => {
    const dataDir = await temporaryFolder();
    await fakeInstance(dataDir, ({ url }) =>
      url.startsWith('/v1/goals/') ? { status: 200, body: GOAL } : page(GOAL),
    );
    expect((await headgate(['goals'], { dataDir })).out).toContain('3 of 3');
    const { out } = await headgate(['goals', 'describe', 'goal_01k'], { dataDir });
    for (const words of [
      'given-up',
      'GOAL_GIVEN_UP',
      '2 of 3 without progress',
      '$1.50 of $5.00',
      '1.4',
      '9f31c2a',
    ]) {
      expect(out).toContain(words);
    }
    const json = await headgate(['goals', 'describe', 'goal_01k', '--json'], { dataDir });
    expect(JSON.parse(json.out)).toEqual(GOAL);
  });

  it('I2: pauses, resumes and resets', async () => {
    const dataDir = await temporaryFolder();
    const { heard } = await fakeInstance(dataDir, () => ({ status: 202, body: GOAL }));
    await headgate(['goals', 'pause', 'goal_01k', '--note', 'later'], { dataDir });
    await headgate(['goals', 'resume', 'goal_01k'], { dataDir });
    await headgate(['goals', 'reset', 'goal_01k', '--reason', 'fixed'], { dataDir });
    expect(asked(heard)).toEqual([
      ['POST', '/v1/goals/goal_01k/pause', { note: 'later' }],
      ['POST', '/v1/goals/goal_01k/resume', {}],
      ['POST', '/v1/goals/goal_01k/reset', { reason: 'fixed' }],
    ]);
  });
});
