import { isTerminal, TRANSITIONS } from '@headgate/domain';
import {
  checkHistory,
  describeReport,
  eventually,
  type InvariantId,
  loadFinalState,
  type RunSeed,
  readHistory,
  recordOwnHistory,
  type SeededRun,
  type Snapshot,
  seedRun,
  seedTenant,
  type TestStore,
  takeSnapshot,
  testStore,
} from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { rows } from './rows.js';
import { serviceSession } from './sessions.js';
import {
  type Actor,
  CAP,
  dispatcher,
  person,
  randomFrom,
  reaper,
  type Stage,
  TTL_MS,
  worker,
} from './stress-actors.js';

const historyDir = recordOwnHistory();

const RUNS = 200;
const LANES = 8;
const CHAOS_MS = 6_000;
const INVARIANTS: readonly InvariantId[] = [
  'INV-IN4',
  'INV-LE1',
  'INV-LE2',
  'INV-LE3',
  'INV-LE4',
  'INV-LE7',
  'INV-LE8',
  'INV-ST1',
  'INV-ST2',
  'INV-ST3',
  'INV-ST4',
  'INV-ST5',
  'INV-ST6',
];
/** These must really have been put to the test, or the test says nothing. */
const WITNESSED: readonly InvariantId[] = ['INV-LE1', 'INV-LE4', 'INV-LE8', 'INV-ST1', 'INV-ST2', 'INV-ST5'];

async function seedAll(db: TestStore): Promise<Omit<Stage, 'isOpen' | 'random'>> {
  const tenants = [await seedTenant(db, { key: 'quiet' }), await seedTenant(db, { key: 'noisy' })];
  const retry = { maxAttempts: 3, maxInfrastructure: 3, maxLeaseLost: 3, backoffMs: [20] };
  const seeds = Array.from({ length: RUNS }, (_, n): RunSeed => {
    const tenant = tenants[n % 5 === 0 ? 0 : 1];
    if (tenant === undefined) throw new Error('no tenant');
    const exclusive = { key: `deploy-${n % 4}`, limit: 1 };
    const shared = { key: `wide-${n % 2}`, limit: 2 };
    return {
      tenant,
      workKey: `task-${n % 60}`,
      inputVersion: `v${n}`,
      concurrency: [exclusive, shared, null][n % 3] ?? null,
      timeToLiveMs: n % 20 === 0 ? 500 : null,
      spec: { retry, onNewVersion: n % 60 < 30 ? 'allow' : 'cancelOther' },
    };
  });
  const lane = async (from: number): Promise<SeededRun[]> => {
    const seeded: SeededRun[] = [];
    for (const seed of seeds.filter((_, n) => n % LANES === from)) seeded.push(await seedRun(db, seed));
    return seeded;
  };
  const runs = (await Promise.all(Array.from({ length: LANES }, (_, from) => lane(from)))).flat();
  return { db, tenants, runs };
}

/** Samples places and slots while the others work. */
async function sample(db: TestStore, stage: Stage): Promise<{ snapshots: Snapshot[]; mostHeld: number }> {
  const session = await serviceSession(db);
  const snapshots: Snapshot[] = [];
  let mostHeld = 0;
  while (stage.isOpen()) {
    const snapshot = await takeSnapshot(session);
    snapshots.push(snapshot);
    const held = snapshot.runs.filter((run) => run.hasLease || run.item === 'dispatched').length;
    mostHeld = Math.max(mostHeld, held);
  }
  return { snapshots, mostHeld };
}

describe('everything at once', () => {
  test('INV-ST1 to ST6, LE1 to LE8: 200 runs under workers, zombies, reapers and cancels keep every invariant', async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    console.info(`stress seed: ${seed}`);
    const db = await testStore({ maxConnections: 14 });
    const parts = await seedAll(db);
    let isOpen = true;
    const stage: Stage = { ...parts, random: randomFrom(seed), isOpen: () => isOpen };
    let isPeaceful = false;
    const people: Stage = { ...stage, isOpen: () => isOpen && !isPeaceful };
    const actors: readonly Actor[] = [dispatcher, dispatcher, worker, worker, worker, worker, reaper, reaper];
    const working = Promise.all([...actors.map((actor) => actor(stage)), person(people), person(people)]);
    const sampling = sample(db, stage);
    const ended = (async () => {
      await eventually(() => performance.now() > startedAtMs + CHAOS_MS, {
        what: 'the chaos is over',
        deadlineMs: 30_000,
      });
      isPeaceful = true;
      await eventually(() => isQuiet(db), {
        what: 'everything has ended or is parked',
        deadlineMs: 90_000,
        everyMs: 100,
      });
    })();
    const startedAtMs = performance.now();
    // An actor that throws (a deadlock that surfaced, a refused row) ends the test with its fault.
    await Promise.race([ended, working]);
    isOpen = false;
    const [{ snapshots, mostHeld }] = await Promise.all([sampling, working]);

    expect(mostHeld).toBeLessThanOrEqual(CAP);
    expect(mostHeld).toBeGreaterThan(CAP / 2);
    const state = await loadFinalState(await serviceSession(db));
    const report = checkHistory(
      {
        ...state,
        history: readHistory(historyDir),
        providerLog: [],
        transitions: TRANSITIONS,
        snapshots,
        quiescent: true,
        baseline: null,
      },
      { ttlMs: TTL_MS, stopMarginMs: TTL_MS / 3, reapPeriodMs: 1_000, slackMs: 10_000 },
      INVARIANTS,
    );
    expect(report.findings.length, describeReport(report)).toBe(0);
    for (const invariant of WITNESSED) {
      expect(report.witnessed[invariant]?.verdict, `${invariant}: ${describeReport(report)}`).toBe('holds');
    }
    for (const run of state.runs)
      expect(isTerminal(run.status) || run.status === 'WAITING_APPROVAL').toBe(true);
    expect(await inconsistencies(db)).toEqual([]);
  }, 180_000);
});

async function isQuiet(db: TestStore): Promise<boolean> {
  const [row] = await rows<{ left: number }>(
    db,
    'select (select count(*) from headgate.lease)::int + (select count(*) from headgate.queue_item)::int as left',
  );
  return row?.left === 0;
}

/** What the end of each run must have left, and nothing besides. */
const inconsistencies = (db: TestStore) =>
  rows(
    db,
    `select r.id, r.status, v.outcome, (select count(*) from headgate.receipt c where c.run_id = r.id and c.kind = 'closing') as closing,
            (select count(*) from headgate.attempt a where a.run_id = r.id and a.status = 'running') as running,
            r.attempt_no, (select count(*) from headgate.attempt a where a.run_id = r.id) as attempts, r.cost_usd,
            (select coalesce(sum(cost_usd), 0) from headgate.attempt a where a.run_id = r.id) as cost
       from headgate.run r join headgate.task_version v on v.run_id = r.id
      where v.outcome is distinct from (case when r.status = 'WAITING_APPROVAL' then null else r.status end)
         or (select count(*) from headgate.receipt c where c.run_id = r.id and c.kind = 'closing')
            <> (case when r.status = 'WAITING_APPROVAL' then 0 else 1 end)
         or exists (select 1 from headgate.attempt a where a.run_id = r.id and a.status = 'running')
         or r.attempt_no <> (select count(*) from headgate.attempt a where a.run_id = r.id)
         or r.cost_usd <> (select coalesce(sum(cost_usd), 0) from headgate.attempt a where a.run_id = r.id)
     union all
     select null, null, null, null, null, null, null, d.settled, r.cost
       from (select sum(settled_usd) as settled from headgate.tenant_day) d, (select sum(cost_usd) as cost from headgate.run) r
      where coalesce(d.settled, 0) <> r.cost`,
  );
