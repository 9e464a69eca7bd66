/** A schedule whose times became all kinds of things, and a goal that was looked at three times. */
import { formatId, type GoalSpec, type ScheduleSpec, systemIds } from '@headgate/domain';
import { goals, observations, schedules, scheduleTicks } from '@headgate/store';
import { type RunInStatus, runInStatus } from '@headgate/testkit';
import { aConsole, type TestConsole } from '../../services/console/test/a-console.js';
import { deliver } from '../../services/console/test/seeds.js';

const HOUR_MS = 3_600_000;
/** Another zone than any that the browser of a test is in. */
export const ZONE = 'Asia/Kathmandu';

export interface TimersStory {
  readonly test: TestConsole;
  readonly schedule: string;
  readonly goal: string;
  /** The nominal time `hours` after the schedule was made, six hours ago. */
  at(hours: number): Date;
}

export async function aTimersStory(): Promise<TimersStory> {
  const test = await aConsole();
  const anchor = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 6 * HOUR_MS);
  const at = (hours: number): Date => new Date(anchor.getTime() + hours * HOUR_MS);
  return { test, at, schedule: await aSchedule(test, anchor, at), goal: await aGoal(test) };
}

const SCHEDULE: ScheduleSpec = {
  kind: 'schedule',
  ordinal: 0,
  cron: '@every 1h',
  timezone: ZONE,
  startAt: null,
  endAt: null,
  exclude: ['12-24/01-02'],
  jitterMs: 600_000,
  pauseOnFailure: true,
  overlap: 'bufferOne',
  catchUp: { mode: 'latest', windowMs: 24 * HOUR_MS, max: 10 },
};

async function aSchedule(test: TestConsole, anchor: Date, at: (hours: number) => Date): Promise<string> {
  const id = systemIds.next('sch');
  const { id: tenantId, policyVersion } = test.tenant;
  const fired = await deliver(test, { eventId: 'a-tick' });
  await test.store.service.use(async (c) => {
    await schedules.ensure(c, {
      id,
      tenantId,
      route: 'weekly-deps',
      ordinal: 0,
      spec: SCHEDULE,
      policyVersion,
      nextAt: at(7),
    });
    await c.query('update headgate.schedule set anchor_at = $2, last_nominal_at = $3 where id = $1', [
      id,
      anchor,
      at(5),
    ]);
    const tick = { scheduleId: id, tenantId, target: '', count: 1, receiptId: null } as const;
    const timer = { ...tick, origin: 'timer' } as const;
    await scheduleTicks.record(c, [
      {
        ...timer,
        nominalAt: at(1),
        untilAt: at(2),
        count: 2,
        bucket: 'missed',
        reasonCode: 'MISSED_CATCHUP',
      },
      {
        ...timer,
        nominalAt: at(3),
        untilAt: at(3),
        bucket: 'fired',
        reasonCode: 'ADMITTED',
        receiptId: fired.receiptId,
      },
      { ...timer, nominalAt: at(4), untilAt: at(4), bucket: 'skipped', reasonCode: 'OVERLAP_SKIPPED' },
      { ...timer, nominalAt: at(5), untilAt: at(5), bucket: 'fired', reasonCode: 'NOTHING_FOUND' },
      {
        ...tick,
        origin: 'trigger',
        nominalAt: at(5.5),
        untilAt: at(5.5),
        bucket: 'buffered',
        reasonCode: 'ADMITTED',
      },
    ]);
  });
  return formatId('sch', id);
}

const GOAL: GoalSpec = {
  kind: 'goal',
  ordinal: 0,
  observe: { kind: 'command', command: '! grep -rn FIXME src', timeoutMs: 60_000 },
  until: { source: 'observation.exitCode == 0' },
  cadence: '@every 10m',
  timezone: 'UTC',
  stop: { maxRuns: 3, deadlineMs: 24 * HOUR_MS, noProgress: 3, maxCostUsd: 5 },
};

async function aGoal(test: TestConsole): Promise<string> {
  const id = systemIds.next('goal');
  const { id: tenantId, policyVersion } = test.tenant;
  const looks: RunInStatus[] = [];
  for (let n = 0; n < 3; n += 1) {
    looks.push(
      await runInStatus(test.store, 'SUCCEEDED', {
        tenant: test.tenant,
        spec: { route: 'no-fixme', observe: GOAL.observe },
      }),
    );
  }
  await test.store.service.use(async (c) => {
    await goals.ensure(c, {
      id,
      tenantId,
      route: 'no-fixme',
      ordinal: 0,
      target: '42',
      repository: 'acme/api',
      spec: GOAL,
      policyVersion,
    });
    await c.query(
      `update headgate.goal set observations = 3, runs = 1, cost_usd = 1.2, no_progress = 1, unknowns = 1,
              started_at = clock_timestamp() - interval '2 hours',
              next_at = clock_timestamp() + interval '8 minutes' where id = $1`,
      [id],
    );
    const seen = [
      { outcome: 'open', detail: null, result: { exitCode: 1, output: 'src/add.js:3: // FIXME subtracts' } },
      { outcome: 'open', detail: null, result: { exitCode: 1, output: 'src/add.js:9: // FIXME names' } },
      { outcome: 'unknown', detail: 'it took longer than 60 s', result: null },
    ] as const;
    for (const [index, one] of seen.entries()) {
      const look = looks[index];
      if (look === undefined) throw new Error('a look without a run');
      await observations.insert(c, {
        ...one,
        id: systemIds.next('obs'),
        goalId: id,
        tenantId,
        epoch: 1,
        number: index + 1,
        runId: look.runId,
        ref: 'main',
        version: '9f31c2a0'.repeat(5),
        fingerprint: null,
        receiptId: null,
      });
    }
  });
  return formatId('goal', id);
}
