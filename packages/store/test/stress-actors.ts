/**
 * What works on the runs of a stress test, each as an endless turn: dispatchers, workers that finish, stall, come
 * back and hand in late, reapers, people who cancel. Every choice is drawn from one seeded generator.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type LeasedStatus, type Random, systemIds, type WorkerId } from '@headgate/domain';
import {
  type AttemptOutcome,
  type ClaimedRun,
  cancelRun,
  cancelTask,
  claim,
  type Database,
  type DispatchSnapshot,
  dispatch,
  dispatchedRuns,
  enterStages,
  expireOverdue,
  type Fence,
  finish,
  leases,
  type PreLeaseVerdict,
  promoteDue,
  readyPairs,
  reap,
  stopRuns,
  takeBackUnclaimed,
  unansweredHints,
  type VerdictRow,
  writeVerdicts,
} from '@headgate/store';
import { needsApproval, type SeededRun, type SeededTenant, seedWorker } from '@headgate/testkit';

export const CAP = 30;
export const TTL_MS = 400;

/** mulberry32: small, seeded, good enough to choose by. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface Stage {
  readonly db: Database;
  readonly tenants: readonly SeededTenant[];
  readonly runs: readonly SeededRun[];
  readonly random: Random;
  /** False ends every actor after its turn. */
  isOpen(): boolean;
}

export type Actor = (stage: Stage) => Promise<void>;

const pick = <T>(random: Random, list: readonly T[]): T => {
  const chosen = list[Math.floor(random() * list.length)];
  if (chosen === undefined) throw new Error('nothing to choose from');
  return chosen;
};

/** Turns until the stage closes; between two turns a moment, as a polling loop. */
const turning =
  (everyMs: number, turn: Actor): Actor =>
  async (stage) => {
    while (stage.isOpen()) {
      await turn(stage);
      await delay(Math.ceil(everyMs * stage.random()));
    }
  };

const withinCap = (random: Random) => (snapshot: DispatchSnapshot) => {
  const held = snapshot.held.reduce((sum, row) => sum + row.held, 0);
  return snapshot.heads
    .toSorted(() => random() - 0.5)
    .slice(0, Math.max(0, CAP - held))
    .map((head) => head.runId);
};

export const dispatcher = turning(20, async ({ db, random }) => {
  const upkeep = { hintAgainAfterMs: 50, takeBackAfterMs: 300, limit: 5, actor: 'scheduler' };
  await promoteDue(db.service, 20, 'scheduler');
  await expireOverdue(db.service, 20, 'scheduler');
  await unansweredHints(db.service, upkeep);
  await takeBackUnclaimed(db.service, upkeep);
  const pairs = (await db.service.use(readyPairs)).map((pair) => ({ ...pair, after: null }));
  await dispatch(db.service, { pairs, read: 20, wait: random() < 0.5, choose: withinCap(random) });
});

export const reaper = turning(40, async ({ db, random }) => {
  const result = await reap(db.service, {
    limit: 1 + Math.floor(random() * 10),
    graceMs: 200,
    random,
    actor: 'reaper',
  });
  if (result.kind === 'reaped' && result.refused.length > 0) throw result.refused[0]?.fault;
});

export const person = turning(60, async ({ db, runs, random }) => {
  // Half of the time one that a worker holds: that is where cancels race.
  const held = await db.service.use((c) =>
    c.query<{ id: string }>('select run_id as id from headgate.lease'),
  );
  const leased = runs.filter((run) => held.some(({ id }) => id === run.runId));
  const run = pick(random, leased.length > 0 && random() < 0.5 ? leased : runs);
  const options = { actor: 'mona', reason: null };
  const choice = random();
  if (choice < 0.5) await cancelRun(db.service, run.runId, options);
  else if (choice < 0.6) await cancelTask(db.service, run.taskId, options);
  else {
    const others = [run, pick(random, runs), pick(random, runs)].map(({ runId }) => ({
      runId,
      kind: 'supersede' as const,
      reasonCode: 'SUPERSEDED' as const,
      actor: 'intake',
    }));
    await db.service.transaction((c) => stopRuns(c, others));
  }
});

/** Polls, judges, claims and works, up to its slots at once; in the end it waits for what it began. */
export const worker: Actor = async (stage) => {
  const { db, tenants, random } = stage;
  const queueIds = [...new Set(tenants.map((tenant) => tenant.queueId))];
  const slots = 6;
  const workerId = await seedWorker(db, { queueIds, slots, leaseTtlMs: 60_000 });
  const busy = new Set<Promise<void>>();
  while (stage.isOpen()) {
    const waiting = await db.service.use((c) => dispatchedRuns.waiting(c, queueIds, 0, 10));
    const judged = waiting.map(({ runId, dispatchNo }) => ({
      runId,
      dispatchNo,
      verdict: verdictOf(random),
    }));
    const refused = judged.flatMap(({ verdict, ...row }): VerdictRow[] =>
      verdict.kind === 'fresh' ? [] : [{ ...row, verdict }],
    );
    await writeVerdicts(db.service, refused, `worker:${workerId}`);
    const limit = slots - busy.size;
    const result = await claim(db.service, {
      workerId,
      queueIds,
      ttlMs: TTL_MS,
      policyVersion: tenants[0]?.policyVersion ?? 0,
      hinted: judged
        .filter((row) => row.verdict.kind === 'fresh')
        .map(({ runId, dispatchNo }) => ({
          runId,
          dispatchNo,
          attemptId: systemIds.next('att'),
          leaseId: systemIds.next('lease'),
          judgedAgoMs: 0,
        })),
      limit,
      verdictMaxAgeMs: 30_000,
    });
    if (result.kind !== 'claimed') throw new Error(`the worker heard ${result.kind}`);
    for (const run of result.runs) {
      const working = work(stage, workerId, run).finally(() => busy.delete(working));
      busy.add(working);
    }
    if (busy.size >= slots) await Promise.race(busy);
    else await delay(Math.ceil(15 * random()));
  }
  await Promise.all(busy);
};

function verdictOf(random: Random): PreLeaseVerdict {
  const choice = random();
  if (choice < 0.85) return { kind: 'fresh' };
  if (choice < 0.95) return { kind: 'defer', reasonCode: 'SOURCE_UNAVAILABLE', delayMs: 30, detail: null };
  return { kind: 'end', to: 'NO_WORK', reasonCode: 'STALE_INPUT', detail: null };
}

const OUTCOMES: readonly AttemptOutcome[] = [
  { kind: 'succeeded', reasonCode: 'SUCCEEDED' },
  { kind: 'succeeded', reasonCode: 'NO_CHANGE' },
  { kind: 'failed', reasonCode: 'AGENT_FAILED', detail: 'exit 1', retryAfterMs: null },
  { kind: 'failed', reasonCode: 'SANDBOX_FAILED', detail: null, retryAfterMs: null },
  { kind: 'failed', reasonCode: 'VERIFIER_FAILED', detail: null, retryAfterMs: null },
  { kind: 'handed-back', reasonCode: 'WORKER_DRAINED', retryAfterMs: null },
  needsApproval(),
];
const STAGES: readonly LeasedStatus[] = [
  'PREPARING_SANDBOX',
  'RUNNING',
  'VERIFYING',
  'JUDGING',
  'FINALIZING',
];

async function work({ db, random }: Stage, workerId: WorkerId, run: ClaimedRun): Promise<void> {
  const { runId, fencingToken, leaseId, attemptId } = run;
  const fence: Fence = { runId, fencingToken, leaseId };
  const actor = `worker:${workerId}`;
  const handIn = (result: AttemptOutcome) =>
    finish(
      db.service,
      [{ fence, attemptId, result, costUsd: random() < 0.5 ? 0 : 0.25, evidence: null, actor }],
      random,
    );
  const steps = Math.floor(random() * 4);
  for (let step = 0; step < steps; step += 1) {
    await enterStages(db.service, [{ fence, to: pick(random, STAGES), actor }]);
    const { leases: answers } = await db.reserved.use((c) => leases.beat(c, [fence], workerId, TTL_MS));
    const answer = answers.get(runId);
    if (answer?.answer === 'lost') return;
    if (answer?.control !== null && random() < 0.7) {
      await handIn({ kind: 'cancelled' });
      return;
    }
    await delay(Math.ceil(20 * random()));
  }
  const fate = random();
  // Gone without a word: the reaper ends it. The slot is the worker's until the lease has run out.
  if (fate < 0.1) {
    await delay(TTL_MS * 1.5);
    return;
  }
  // Frozen past its lease, then it tries to go on as if nothing had been.
  if (fate < 0.2) {
    await delay(TTL_MS * 1.5);
    await db.reserved.use((c) => leases.beat(c, [fence], workerId, TTL_MS));
    await enterStages(db.service, [{ fence, to: 'FINALIZING', actor }]);
  }
  await handIn(pick(random, OUTCOMES));
}
