/**
 * The checker can see: each mutant is the product with one guard taken out of one statement, driven through a story.
 * With all guards the story breaks nothing; without one, the checker is red and names the invariant.
 *
 * Late worker: a reaper looks too early, worker A renews too late, the run is taken over by B, A hands in late, B hands
 * in. Two versions: both versions of one task are offered to claims. One run: claimed and handed in. All of it by the
 * store's own calls.
 */
import { TRANSITIONS } from '@headgate/domain';
import {
  claim,
  declaredStatements,
  type Fence,
  finish,
  leases,
  promoteDue,
  reap,
  type Statement,
} from '@headgate/store';
import {
  checkHistory,
  claimRun,
  eventually,
  type InvariantId,
  loadFinalState,
  offerRuns,
  readHistory,
  recordOwnHistory,
  type SeededLease,
  type SeededRun,
  seedRun,
  seedTenant,
  seedWorker,
  type TestStore,
  testStore,
  withClient,
} from '@headgate/testkit';
import { afterEach, describe, expect, it } from 'vitest';

const historyDir = recordOwnHistory();

/** Long enough that the early reaper comes in time on a busy machine. */
const TTL_MS = 1_500;

interface Mutant {
  readonly guard: string;
  readonly statement: string;
  /** What is taken out, and what stands there instead. */
  readonly from: string;
  readonly to: string;
  readonly story: 'late worker' | 'two versions' | 'one run';
  readonly caughtBy: InvariantId;
}

const MUTANTS: readonly Mutant[] = [
  {
    guard: 'the reaper looks at the clock',
    statement: 'lease.lock_expired',
    from: 'where l.expires_at <= clock_timestamp() and',
    to: 'where',
    story: 'late worker',
    caughtBy: 'INV-LE2',
  },
  {
    guard: 'a heartbeat renews only what has not expired',
    statement: 'lease.beat',
    from: 'and h.expires_at > h.at',
    to: '',
    story: 'late worker',
    caughtBy: 'INV-LE4',
  },
  {
    guard: 'a write shows fencing token and lease id',
    statement: 'lease.lock_fenced',
    from: 'using (run_id, fencing_token, lease_id)',
    to: 'using (run_id)',
    story: 'late worker',
    caughtBy: 'INV-LE3',
  },
  {
    guard: 'two versions of a task exclude each other',
    statement: 'claim.take',
    from: 'case when e.exclusive_task then e.task_id end',
    to: 'null::uuid',
    story: 'two versions',
    caughtBy: 'INV-LE8',
  },
  {
    guard: 'the end of a run releases its lease',
    statement: 'lease.release',
    from: 'where run_id = any ($1::uuid[])',
    to: 'where false and run_id = any ($1::uuid[])',
    story: 'one run',
    caughtBy: 'INV-ST6',
  },
];

const undo: (() => void)[] = [];
afterEach(() => {
  for (const act of undo.splice(0)) act();
});

function withoutGuard({ statement: name, from, to }: Mutant): void {
  const found = declaredStatements().find((statement) => statement.name === name);
  if (found === undefined || !found.text.includes(from))
    throw new Error(`${name} has no "${from}" to take out`);
  const mutable: { -readonly [K in keyof Statement]: Statement[K] } = found;
  const { text } = found;
  mutable.text = text.replace(from, to);
  undo.push(() => {
    mutable.text = text;
  });
}

const handIn = (db: TestStore, lease: SeededLease) =>
  finish(
    db.service,
    [
      {
        fence: lease.fence,
        attemptId: lease.attemptId,
        result: { kind: 'succeeded', reasonCode: 'SUCCEEDED' },
        costUsd: 0,
        evidence: null,
        actor: `worker:${lease.workerId}`,
      },
    ],
    () => 0.5,
  );

const reapOnce = (db: TestStore) =>
  reap(db.service, { limit: 10, graceMs: TTL_MS, random: () => 0, actor: 'reaper' });

const beat = (db: TestStore, { fence, workerId }: { fence: Fence; workerId: SeededLease['workerId'] }) =>
  db.reserved.use((c) => leases.beat(c, [fence], workerId, TTL_MS));

async function countOf(db: TestStore, from: string): Promise<number> {
  const [row] = await db.service.use((c) => c.query<{ n: number }>(`select count(*)::int as n from ${from}`));
  return row?.n ?? 0;
}

/** Claims whatever of the run is ready, as it becomes ready after its back-off. */
async function claimAgain(
  db: TestStore,
  run: SeededRun,
  workerId: SeededLease['workerId'],
): Promise<SeededLease> {
  await eventually(
    async () => {
      await promoteDue(db.service, 10, 'test');
      return (
        (await countOf(db, `headgate.queue_item where state = 'ready' and run_id = '${run.runId}'`)) === 1
      );
    },
    { what: 'the run is ready again' },
  );
  return claimRun(db, run, { workerId, ttlMs: 60_000 });
}

async function lateWorker(db: TestStore): Promise<void> {
  const retry = { maxAttempts: 3, maxInfrastructure: 5, maxLeaseLost: 3, backoffMs: [1] };
  const run = await seedRun(db, { spec: { retry } });
  const [a, b] = [
    await seedWorker(db, { queueIds: [run.tenant.queueId] }),
    await seedWorker(db, { queueIds: [run.tenant.queueId] }),
  ];
  // One that did run out, so that the reaper has something to take.
  await claimRun(db, await seedRun(db, { tenant: run.tenant, spec: { retry } }), { workerId: b, ttlMs: 1 });
  const first = await claimRun(db, run, { workerId: a, ttlMs: TTL_MS });
  // Too early for A: its lease stands.
  await reapOnce(db);
  await eventually(
    async () => (await countOf(db, 'headgate.lease where expires_at > clock_timestamp()')) === 0,
    { what: 'the lease of A has run out' },
  );
  // Too late: it is not renewed.
  await beat(db, first);
  await eventually(
    async () => {
      await reapOnce(db);
      return (await countOf(db, "headgate.attempt where status = 'lost'")) === 2;
    },
    { what: 'the reaper takes it' },
  );
  const second = await claimAgain(db, run, b);
  await handIn(db, first);
  await handIn(db, second);
}

async function twoVersions(db: TestStore): Promise<void> {
  const tenant = await seedTenant(db);
  const versions = [
    await seedRun(db, { tenant, workKey: '42/pr/9/check/unit', inputVersion: 'a'.repeat(40) }),
    await seedRun(db, { tenant, workKey: '42/pr/9/check/unit', inputVersion: 'b'.repeat(40) }),
  ];
  const hinted = await offerRuns(db, versions);
  const workerId = await seedWorker(db, { queueIds: [tenant.queueId] });
  for (const hint of hinted) {
    await claim(db.service, {
      workerId,
      queueIds: [tenant.queueId],
      ttlMs: 60_000,
      policyVersion: tenant.policyVersion,
      hinted: [hint],
      limit: 1,
      verdictMaxAgeMs: 30_000,
    });
  }
  // Longer than what the checker allows two clocks to differ.
  await eventually(
    async () =>
      (await countOf(db, "headgate.lease where acquired_at > clock_timestamp() - interval '100 ms'")) === 0,
    { what: 'the leases have been held for a while' },
  );
}

async function oneRun(db: TestStore): Promise<void> {
  await handIn(db, await claimRun(db, await seedRun(db)));
}

const STORIES: Readonly<Record<Mutant['story'], (db: TestStore) => Promise<void>>> = {
  'late worker': lateWorker,
  'two versions': twoVersions,
  'one run': oneRun,
};

/** Tells a story in a database of its own, and has the checker judge it. */
async function judgeStory(story: Mutant['story']) {
  const seen = seqSoFar();
  // Without prepared names: a mutant's text must not meet the name of the sound one.
  const db = await testStore({ poolMode: 'transaction' });
  await STORIES[story](db);
  const state = await withClient(db.urls.serviceUrl, loadFinalState);
  const history = readHistory(historyDir).filter(({ seq }) => seq > seen);
  const transitions = TRANSITIONS;
  const input = {
    ...state,
    history,
    providerLog: [],
    transitions,
    snapshots: [],
    quiescent: false,
    baseline: null,
  };
  const settings = {
    ttlMs: TTL_MS,
    stopMarginMs: 100,
    reapPeriodMs: 60_000,
    slackMs: 60_000,
    clockToleranceMs: 20,
  };
  return checkHistory(input, settings);
}

function seqSoFar(): number {
  try {
    return readHistory(historyDir).at(-1)?.seq ?? 0;
  } catch {
    // Nothing was recorded yet.
    return 0;
  }
}

describe('mutants', () => {
  it.each(['late worker', 'two versions', 'one run'] as const)(
    'with all guards the story of the %s breaks no invariant',
    async (story) => {
      const report = await judgeStory(story);
      expect(report.findings).toEqual([]);
    },
    60_000,
  );

  it.each(MUTANTS)(
    'without "$guard" the checker is red ($caughtBy)',
    async (mutant) => {
      withoutGuard(mutant);
      const report = await judgeStory(mutant.story);
      expect(report.verdict).toBe('violated');
      expect(report.findings.map((finding) => finding.invariant)).toContain(mutant.caughtBy);
    },
    60_000,
  );
});
