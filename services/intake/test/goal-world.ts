/** A world with a goal, a keeper's turn by hand, and a worker that ends runs as a test says. */
import type { Undertaken } from '@headgate/admission';
import { type ObservationFacts, type RunId, systemIds } from '@headgate/domain';
import { goals } from '@headgate/store';
import { claimRuns, dispatchedItems, finishRun, type LeasedRun } from '../../../test/world/claims.js';
import { policyFrom } from '../../../test/world/policy.js';
import { aDispatcher, anAdmission, aWorker, aWorld, type World } from '../../../test/world/world.js';
import { conclude } from '../src/goal/conclude.js';
import type { KeepOptions, Stepped } from '../src/goal/keep.js';
import { look } from '../src/goal/look.js';
import { syncGoals } from '../src/goal/sync.js';
import { Heads } from '../src/repositories/heads.js';
import { StagedReader } from './schedule-world.js';

export const goalYaml = (stop: string, until = 'observation.exitCode == 0'): string => `
version: 1
sources:
  forge: { kind: git, repositories: { acme/api: { url: /nowhere/api.git, defaultBranch: main } } }
agents: { fixer: { runtime: command, command: [ node, fix.js ] } }
routes:
  green:
    on: [ { goal: { observe: { command: npm test }, until: '${until}', cadence: "@every 1h", stop: ${stop} } } ]
    repositories: [ acme/api ]`;

export interface GoalWorld {
  readonly world: World;
  readonly reader: StagedReader;
  sync(yaml: string): Promise<void>;
  /** One turn of a keeper: what has ended, then what is due. */
  turn(change?: Partial<KeepOptions>): Promise<readonly Stepped[]>;
  /** Claims the only waiting run, as a worker would. */
  claim(): Promise<LeasedRun>;
  /** Ends an observation with what it saw; by default a failing test. */
  observe(run: LeasedRun, facts?: Partial<ObservationFacts>): Promise<void>;
  finish: (
    run: LeasedRun,
    ...rest: Parameters<typeof finishRun> extends [unknown, unknown, ...infer R] ? R : never
  ) => Promise<void>;
  goal(): Promise<GoalLine>;
  makeDue(): Promise<unknown>;
}

export interface GoalLine {
  readonly id: string;
  readonly state: string;
  readonly phase: string;
  readonly reason: string | null;
  readonly note: string | null;
  readonly runs: number;
  readonly observations: number;
  readonly epoch: number;
  readonly costUsd: number;
  readonly runId: RunId | null;
}

export async function aGoalWorld(yaml: string): Promise<GoalWorld> {
  const world = await aWorld(await policyFrom(yaml));
  const reader = new StagedReader();
  let active = world.active;
  const { admission } = anAdmission(world, () => active);
  const pool = world.database.service;
  const worker = await aWorker(world, 50);
  const dispatcher = aDispatcher(world, { policy: () => active });
  const sync = async (text: string): Promise<void> => {
    active = await world.activate(await policyFrom(text));
    await syncGoals(pool, active, systemIds);
  };
  await sync(yaml);
  const finish: GoalWorld['finish'] = async (run, ...rest) => {
    const answer = await finishRun(world, run, ...rest);
    if (answer?.kind !== 'finished') throw new Error(`the run was not finished: ${JSON.stringify(answer)}`);
  };
  return {
    world,
    reader,
    sync,
    turn: async (change = {}) => {
      const committed = (undertaken: Undertaken | null): void => undertaken?.committed();
      const options = {
        pool,
        admission,
        heads: new Heads(reader),
        active,
        ids: systemIds,
        committed,
        ...change,
      };
      const [ended, due] = [
        await pool.use((c) => goals.ended(c, 20)),
        await pool.use((c) => goals.due(c, 20)),
      ];
      const steps: Stepped[] = [];
      for (const row of ended) steps.push(await conclude(row, options));
      for (const row of due) steps.push(await look(row, options));
      return steps;
    },
    claim: async () => {
      await dispatcher.scan();
      await dispatcher.turn({ wait: true });
      const [run, ...others] = await claimRuns({ ...world, active }, worker, await dispatchedItems(world));
      if (run === undefined || others.length > 0) throw new Error(`${others.length} runs besides the first`);
      return run;
    },
    finish,
    observe: (run, facts = {}) =>
      finish(run, undefined, { evidence: { observation: { kind: 'seen', facts: { ...SEEN, ...facts } } } }),
    goal: async () => {
      const [line] = await world.sql<GoalLine>(
        `select id, state, phase, reason_code as reason, note, runs, observations, epoch,
                cost_usd::float8 as "costUsd", run_id as "runId" from headgate.goal`,
      );
      if (line === undefined) throw new Error('there is no goal');
      return line;
    },
    makeDue: () =>
      world.sql("update headgate.goal set next_at = now() - interval '1 second' where phase = 'idle'"),
  };
}

const SEEN: ObservationFacts = {
  kind: 'command',
  exitCode: 1,
  output: '1 failed',
  status: null,
  body: null,
  json: null,
  version: 'a'.repeat(40),
  ref: 'main',
};

export const goalReceipts = (
  world: World,
): Promise<
  { outcome: string; reason: string; message: string; trigger: string; watermark: string | null }[]
> =>
  world.sql(
    `select outcome, reason_code as reason, message, trigger, watermark from headgate.receipt
      where kind = 'decision' and type <> 'goal.observe' order by id`,
  );

export const observationLines = (
  world: World,
): Promise<{ outcome: string; number: number; epoch: number }[]> =>
  world.sql('select outcome, number, epoch from headgate.observation order by epoch, number');
