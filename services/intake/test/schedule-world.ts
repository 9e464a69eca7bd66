/** A world with a schedule, and a ticker's turn by hand: what is due is set in the row, the clock is the database's. */
import type { Admission } from '@headgate/admission';
import { type ScheduleId, systemIds } from '@headgate/domain';
import type { HeadReading, SourceReader } from '@headgate/sources';
import { schedules } from '@headgate/store';
import { policyFrom } from '../../../test/world/policy.js';
import { anAdmission, aWorld, type World } from '../../../test/world/world.js';
import { Heads } from '../src/repositories/heads.js';
import { type Fired, fire } from '../src/schedule/fire.js';
import { syncSchedules } from '../src/schedule/sync.js';

/** Answers what the test says, for all repositories. */
export class StagedReader implements SourceReader {
  answer: HeadReading = head('a');
  readHead(): Promise<HeadReading> {
    return Promise.resolve(this.answer);
  }
}

export const head = (character: string): HeadReading => ({
  kind: 'head',
  sha: character.repeat(40),
  observedAt: new Date(),
});

export const scheduleYaml = (trigger: string, more = '    repositories: [ acme/api ]'): string => `
version: 1
sources:
  forge: { kind: git, repositories: { acme/api: { url: /nowhere/api.git, defaultBranch: main } } }
agents: { fixer: { runtime: command, command: [ node, fix.js ] } }
routes:
  tidy:
    on: [ { ${trigger} } ]
${more}`;

export interface ScheduleWorld {
  readonly world: World;
  readonly reader: StagedReader;
  readonly admission: Admission;
  /** Brings the rows in line with a policy; the first turn then finds out their next times. */
  sync(yaml: string): Promise<void>;
  /** Makes exactly one nominal time due now: `@every 1h`, an hour and a second after its beginning. */
  makeDue(): Promise<void>;
  /** One turn of a ticker over everything that is due. */
  turn(admission?: Admission): Promise<readonly Fired[]>;
}

export async function aScheduleWorld(yaml: string): Promise<ScheduleWorld> {
  const world = await aWorld(await policyFrom(yaml));
  const reader = new StagedReader();
  const heads = new Heads(reader);
  let active = world.active;
  const { admission } = anAdmission(world, () => active);
  const pool = world.database.service;
  const sync = async (text: string): Promise<void> => {
    active = await world.activate(await policyFrom(text));
    await syncSchedules(pool, active, systemIds);
  };
  const turn = async (by: Admission = admission): Promise<readonly Fired[]> => {
    const rows = await pool.use((c) => schedules.soonest(c, 20));
    const due = rows.filter((row) => row.nextAt !== null && row.nextAt <= row.now);
    const fired: Fired[] = [];
    for (const row of due) fired.push(await fire(row, { pool, admission: by, heads, active }));
    return fired;
  };
  await sync(yaml);
  await turn();
  return {
    world,
    reader,
    admission,
    sync,
    turn,
    makeDue: () =>
      world
        .sql(
          `update headgate.schedule set anchor_at = now() - interval '1 hour 1 second', last_nominal_at = null,
                  next_at = now() - interval '1 second'`,
        )
        .then(() => {}),
  };
}

export interface ScheduleLine {
  readonly id: ScheduleId;
  readonly route: string;
  readonly ordinal: number;
  readonly state: string;
  readonly lastNominalAt: Date | null;
  readonly nextAt: Date | null;
}

export const scheduleLines = (world: World): Promise<ScheduleLine[]> =>
  world.sql(
    `select id, route, ordinal, state, last_nominal_at as "lastNominalAt", next_at as "nextAt"
       from headgate.schedule order by route, ordinal`,
  );

export const tickLines = (
  world: World,
): Promise<
  { bucket: string; reason: string; count: number; target: string; nominalAt: Date; untilAt: Date }[]
> =>
  world.sql(
    `select bucket, reason_code as reason, count, target, nominal_at as "nominalAt", until_at as "untilAt"
       from headgate.schedule_tick order by nominal_at, target`,
  );

export const runLines = (
  world: World,
): Promise<{ status: string; version: string; exclusive: boolean | null }[]> =>
  world.sql(
    `select r.status, r.input_version as version, q.exclusive_task as exclusive
       from headgate.run r left join headgate.queue_item q on q.run_id = r.id order by r.id`,
  );
