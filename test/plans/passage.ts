/** All that services ask of Postgres on the way of a run, once, by the functions that they call. */
import { Admission, type Submission } from '@headgate/admission';
import { type RunId, systemIds } from '@headgate/domain';
import {
  type AttemptOutcome,
  approvals,
  type ClaimedRun,
  claim,
  type Database,
  Dimensions,
  declareWorkersDead,
  deferredSignals,
  deliveries,
  dispatch,
  dispatchedRuns,
  dueWork,
  endLostAttempts,
  enterStages,
  expireOverdue,
  findBrokenLatches,
  findMisplaced,
  finish,
  hintOverdue,
  leases,
  policies,
  promoteDue,
  promoteOverdue,
  readHintStandings,
  readInstanceFigures,
  readyPairs,
  reap,
  releaseOrphanLatches,
  takeBackUnclaimed,
  unansweredHints,
  writeVerdicts,
} from '@headgate/store';
import { anotherTarget, submissionOf } from '../world/signals.js';
import { silent } from '../world/world.js';
import type { Scene } from './scene.js';

const BATCH = 50;
const ACTOR = 'test';

export async function wholePassage(scene: Scene, db: Database, round: number): Promise<void> {
  await admit(db, round);
  const items = await dispatchSome(scene, db);
  await judge(db, items);
  const runs = await claimSome(scene, db, items);
  await hold(scene, db, runs);
  await handIn(db, runs);
  await upkeep(db);
  await repair(db);
}

type Item = { readonly runId: RunId; readonly dispatchNo: number };

async function admit(db: Database, round: number): Promise<void> {
  const active = await db.service.use((c) => policies.active(c));
  if (active === null) throw new Error('no policy is active');
  const admission = new Admission({
    pool: db.service,
    dimensions: new Dimensions(db.service),
    ids: systemIds,
    logger: silent,
    policy: () => active,
  });
  const payload = { mediaType: 'application/json', body: Buffer.from('{}') };
  const signals = Array.from({ length: BATCH }, (_, n) =>
    submissionOf({ ...anotherTarget(round * BATCH + n), eventId: `1/${round}-${n}` }, { payload }),
  );
  const all = (list: readonly Submission[]) => Promise.all(list.map((one) => admission.submit(one)));
  await all(signals);
  // The same deliveries again, then other versions of the same work.
  await all(signals);
  await all(
    signals.map(({ signal, ...rest }) => ({
      ...rest,
      signal: { ...signal, eventId: `${signal.eventId}b`, inputVersion: 'b'.repeat(40) },
    })),
  );
}

async function dispatchSome(
  { tenant, saturated, keyed, others }: Scene,
  db: Database,
): Promise<readonly Item[]> {
  const pairs = [saturated, keyed, ...others].map((tenantId) => ({
    queueId: tenant.queueId,
    tenantId,
    after: null,
  }));
  const outcome = await dispatch(db.service, {
    pairs,
    read: 4,
    readsRuns: true,
    wait: true,
    choose: ({ heads }) =>
      heads
        .filter((head) => head.tenantId !== saturated)
        .slice(0, 2 * BATCH)
        .map((head) => head.runId),
  });
  return outcome.kind === 'dispatched' ? outcome.items : [];
}

async function judge(db: Database, items: readonly Item[]): Promise<void> {
  const [stale, waiting] = [items.slice(0, 5), items.slice(5, 10)];
  await writeVerdicts(
    db.service,
    [
      ...stale.map((item) => ({
        ...item,
        verdict: { kind: 'end', to: 'NO_WORK', reasonCode: 'STALE_INPUT', detail: null } as const,
      })),
      ...waiting.map((item) => ({
        ...item,
        verdict: { kind: 'defer', reasonCode: 'SOURCE_UNAVAILABLE', delayMs: 60_000, detail: null } as const,
      })),
    ],
    ACTOR,
  );
}

async function claimSome(
  { tenant, workerId }: Scene,
  db: Database,
  items: readonly Item[],
): Promise<readonly ClaimedRun[]> {
  await db.service.use((c) => dispatchedRuns.named(c, items, [tenant.queueId]));
  await db.service.use((c) => dispatchedRuns.waiting(c, [tenant.queueId], 0, BATCH));
  const claimed = await claim(db.service, {
    workerId,
    queueIds: [tenant.queueId],
    ttlMs: 3_600_000,
    policyVersion: tenant.policyVersion,
    hinted: items.map(({ runId, dispatchNo }) => ({
      runId,
      dispatchNo,
      attemptId: systemIds.next('att'),
      leaseId: systemIds.next('lease'),
      judgedAgoMs: 0,
    })),
    limit: BATCH,
    verdictMaxAgeMs: 600_000,
  });
  if (claimed.kind !== 'claimed' || claimed.runs.length < BATCH) {
    throw new Error(`the claim gave ${JSON.stringify(claimed)}`);
  }
  return claimed.runs;
}

async function hold({ workerId }: Scene, db: Database, runs: readonly ClaimedRun[]): Promise<void> {
  await db.reserved.use((c) => leases.beat(c, runs, workerId, 3_600_000));
  await enterStages(
    db.service,
    runs.map((fence) => ({ fence, to: 'RUNNING', actor: ACTOR })),
  );
}

async function handIn(db: Database, runs: readonly ClaimedRun[]): Promise<void> {
  const again: AttemptOutcome = {
    kind: 'failed',
    reasonCode: 'AGENT_FAILED',
    detail: 'exit 1',
    retryAfterMs: 60_000,
  };
  const dead: AttemptOutcome = {
    kind: 'failed',
    reasonCode: 'SETUP_FAILED',
    detail: 'npm ci',
    retryAfterMs: null,
  };
  const [lost, ...ended] = runs;
  await finish(
    db.service,
    ended.map((run, n) => ({
      fence: run,
      attemptId: run.attemptId,
      result:
        n % 10 === 0
          ? again
          : n % 10 === 1
            ? dead
            : ({ kind: 'succeeded', reasonCode: 'SUCCEEDED' } as const),
      costUsd: 0.01,
      evidence: { n },
      actor: ACTOR,
    })),
    () => 0.5,
  );
  await db.service.use((c) =>
    c.query('update headgate.lease set expires_at = now() where run_id = $1', [lost?.runId]),
  );
  await reap(db.service, { limit: 200, graceMs: 60_000, random: () => 0.5, actor: ACTOR });
}

/** What a scheduler does each second or when something is due. */
async function upkeep(db: Database): Promise<void> {
  const bounds = { hintAgainAfterMs: 5_000, takeBackAfterMs: 90_000, limit: 100, actor: ACTOR };
  await db.service.use((c) => dueWork.look(c, bounds.hintAgainAfterMs));
  await db.service.use((c) => readyPairs(c));
  await promoteDue(db.service, 100, ACTOR);
  await expireOverdue(db.service, 100, ACTOR);
  await unansweredHints(db.service, bounds);
  await takeBackUnclaimed(db.service, bounds);
  await db.service.use((c) => deferredSignals.due(c, 100));
}

/** What a reconciler does each minute. */
async function repair(db: Database): Promise<void> {
  const options = { actor: ACTOR, lateByMs: 60_000, limit: 100 };
  for (const along of ['versions', 'items', 'leases'] as const) {
    await db.service.use((c) => findMisplaced(c, along, { from: null, limit: 1_000, admittedForMs: 60_000 }));
  }
  await promoteOverdue(db.service, options);
  const hinted = await hintOverdue(db.service, options);
  await db.service.use((c) => readHintStandings(c, hinted));
  await declareWorkersDead(db.service, 100, options);
  await releaseOrphanLatches(db.service, 100, options);
  await db.service.use((c) => findBrokenLatches(c, null, 100));
  await endLostAttempts(db.service, 100, options);
  await db.service.use((c) => deliveries.forgetExpired(c, 1_000));
  await db.service.use((c) => approvals.forget(c, 2 * BATCH, 90));
  await db.service.use((c) => readInstanceFigures(c));
}
