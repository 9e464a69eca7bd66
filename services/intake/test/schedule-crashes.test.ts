/**
 * INV-SC2 over a real database: whatever the clock does and wherever tickers die, every nominal time of the timer is
 * in exactly one bucket. The database's clock cannot be moved, so the rows are: all their times go back together.
 */
import { type ScheduleSpec, ticksIn } from '@headgate/domain';
import { type Connection, type Pool, pauseSchedule, resumeSchedule, schedules } from '@headgate/store';
import { describe, expect, it } from 'vitest';
import { Heads } from '../src/repositories/heads.js';
import { fire } from '../src/schedule/fire.js';
import { aScheduleWorld, type ScheduleWorld, scheduleYaml } from './schedule-world.js';

class Crash extends Error {}

/** The same pool, whose transactions die at their n-th statement. Answers how many there were, if fewer. */
function dyingPool(
  pool: Pool,
  atStatement: number,
): { readonly pool: Pool; readonly statements: () => number } {
  let statements = 0;
  const dying = (c: Connection): Connection =>
    new Proxy(c, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          statements += 1;
          if (statements === atStatement) throw new Crash(`at statement ${atStatement}`);
          return (value as (...all: unknown[]) => unknown).apply(target, args);
        };
      },
    });
  const same = {
    use: (work: (c: Connection) => Promise<unknown>) => pool.use(work),
    transaction: (work: (c: Connection) => Promise<unknown>, options?: object) =>
      pool.transaction(
        (c) => {
          statements = 0;
          return work(dying(c));
        },
        { ...options, retries: 0 },
      ),
  };
  return { pool: same as unknown as Pool, statements: () => statements };
}

async function turn(place: ScheduleWorld, pool: Pool = place.world.database.service): Promise<void> {
  const real = place.world.database.service;
  const rows = await real.use((c) => schedules.soonest(c, 20));
  for (const row of rows.filter(({ nextAt, now }) => nextAt !== null && nextAt <= now)) {
    const { admission, reader } = place;
    await fire(row, { pool, admission, heads: new Heads(reader), active: place.world.active });
  }
}

/** Time passes for the schedule: everything it knows lies further back. */
const pass = async ({ world }: ScheduleWorld, seconds: number): Promise<void> => {
  await world.sql(
    `update headgate.schedule set anchor_at = anchor_at - $1 * interval '1 second',
            last_nominal_at = last_nominal_at - $1 * interval '1 second', next_at = next_at - $1 * interval '1 second'`,
    [seconds],
  );
  // By way of long ago: a key is compared row by row, and one row's new time may be another's old one.
  for (const secondsBack of [LONG_S, seconds - LONG_S]) {
    await world.sql(
      `update headgate.schedule_tick set nominal_at = nominal_at - $1 * interval '1 second',
              until_at = until_at - $1 * interval '1 second'`,
      [secondsBack],
    );
  }
};
/** Longer than any story. */
const LONG_S = 1_000 * 365 * 86_400;

interface Line {
  readonly nominalAt: Date;
  readonly untilAt: Date;
  readonly count: number;
  readonly bucket: string;
}

/** Each time of the schedule, up to where it is settled, in exactly one row. */
async function checkBuckets({ world }: ScheduleWorld): Promise<readonly Line[]> {
  const [row] = await world.sql<{ spec: ScheduleSpec; anchorAt: Date; settled: Date | null }>(
    'select spec, anchor_at as "anchorAt", last_nominal_at as settled from headgate.schedule',
  );
  if (row === undefined) throw new Error('there is no schedule');
  const lines = await world.sql<Line>(
    `select nominal_at as "nominalAt", until_at as "untilAt", count, bucket from headgate.schedule_tick
      where origin = 'timer' order by nominal_at`,
  );
  const clock = { times: row.spec, anchor: row.anchorAt };
  const span = { after: row.anchorAt, until: row.settled ?? row.anchorAt };
  expect(lines.reduce((sum, line) => sum + line.count, 0)).toBe(ticksIn(clock, span).kept?.count ?? 0);
  for (const [at, line] of lines.entries()) {
    const before = lines[at - 1];
    if (before !== undefined) expect(line.nominalAt.getTime()).toBeGreaterThan(before.untilAt.getTime());
    const own = { after: new Date(line.nominalAt.getTime() - 1), until: line.untilAt };
    expect(ticksIn(clock, own).kept).toEqual({ from: line.nominalAt, to: line.untilAt, count: line.count });
  }
  const [counted] = await world.sql<{ total: number }>(
    "select coalesce(sum(total), 0)::int as total from headgate.schedule_count where origin = 'timer'",
  );
  expect(counted?.total).toBe(lines.reduce((sum, line) => sum + line.count, 0));
  return lines;
}

const EVERY_MINUTE = scheduleYaml(
  'cron: "@every 1m", overlap: allowAll, catchUp: { mode: all, window: 10m, max: 3 }',
  '    repositories: [ acme/api ]\n    work: { version: "{{ event.nominalAt }}" }',
);

describe('every nominal time', () => {
  it('INV-SC2: is in one bucket after a ticker has died at each statement of a turn in turn', async () => {
    const place = await aScheduleWorld(EVERY_MINUTE);
    const real = place.world.database.service;
    for (let at = 1; ; at += 1) {
      await pass(place, 330);
      const { pool, statements } = dyingPool(real, at);
      const before = await place.world.sql('select 1 from headgate.receipt');
      const died = await turn(place, pool).then(
        () => false,
        (fault: unknown) => {
          if (!(fault instanceof Crash)) throw fault;
          return true;
        },
      );
      if (died) {
        expect(await place.world.sql('select 1 from headgate.receipt')).toHaveLength(before.length);
        await checkBuckets(place);
      }
      await turn(place);
      await checkBuckets(place);
      if (!died) {
        expect(statements()).toBeGreaterThan(5);
        return;
      }
    }
  });

  it('INV-SC2: is in one bucket under random time, deaths, rivals, pauses and three hours of downtime', async () => {
    const place = await aScheduleWorld(EVERY_MINUTE);
    const real = place.world.database.service;
    const [row] = await real.use((c) => schedules.all(c));
    if (row === undefined) throw new Error('there is no schedule');
    let seed = Number(process.env['SCHEDULE_SEED'] ?? Date.now() % 1_000_000);
    console.info(`SCHEDULE_SEED=${seed}`);
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    for (let step = 0; step < 30; step += 1) {
      await pass(place, step === 15 ? 3 * 3_600 : random(400));
      switch (random(5)) {
        case 0:
          await turn(place, dyingPool(real, 1 + random(14)).pool).catch((fault: unknown) => {
            if (!(fault instanceof Crash)) throw fault;
          });
          break;
        case 1:
          await pauseSchedule(real, row.id, { actor: 'ada', note: null });
          break;
        case 2:
          await resumeSchedule(real, row.id, { actor: 'ada' });
          break;
        default:
          await Promise.all([turn(place), turn(place)]);
      }
      await checkBuckets(place);
    }
    await resumeSchedule(real, row.id, { actor: 'ada' });
    await pass(place, 180);
    await turn(place);
    const buckets = new Set((await checkBuckets(place)).map((line) => line.bucket));
    expect(buckets.has('fired')).toBe(true);
  });

  it('I2: a year without a ticker is one range and one run, at once', async () => {
    const place = await aScheduleWorld(
      scheduleYaml('cron: "* * * * *", catchUp: { mode: latest, window: 1d }'),
    );
    await pass(place, 365 * 86_400);
    await turn(place);
    const lines = await checkBuckets(place);
    expect(lines.map((line) => line.bucket)).toEqual(['missed', 'fired']);
    expect(lines[0]?.count).toBeGreaterThan(525_000);
    expect(await place.world.sql('select 1 from headgate.run')).toHaveLength(1);
  });
});
