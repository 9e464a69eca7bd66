/** Takes a seeded run to where a test needs it, by the transactions that the services use. */
import {
  type AttemptId,
  isLeased,
  type LeaseId,
  type ReasonCode,
  type RunId,
  systemIds,
  type WorkerId,
} from '@headgate/domain';
import {
  type AttemptOutcome,
  claim,
  type Database,
  dispatch,
  enterStages,
  expireOverdue,
  type Fence,
  finish,
  type Hinted,
  runs,
  stopRuns,
  writeVerdicts,
} from '@headgate/store';
import { type RestingStatus, type RunSeed, type SeededRun, seedRun } from './run.js';
import { seedWorker } from './tenant.js';

/** A claim as its worker holds it. */
export interface SeededLease {
  readonly fence: Fence;
  readonly attemptId: AttemptId;
  readonly leaseId: LeaseId;
  readonly workerId: WorkerId;
  readonly attemptNo: number;
}

export interface ClaimSeed {
  /** Default: a worker of its own. */
  readonly workerId?: WorkerId;
  readonly ttlMs?: number;
}

/** Dispatches exactly this run, and returns its dispatch number. */
export async function dispatchRun(db: Database, run: SeededRun): Promise<number> {
  const [dispatchNo] = await dispatchRuns(db, [run]);
  if (dispatchNo === undefined) throw new Error(`run ${run.runId} was not ready to be dispatched`);
  return dispatchNo;
}

/** Their dispatch numbers, in their order. */
export async function dispatchRuns(db: Database, list: readonly SeededRun[]): Promise<number[]> {
  const outcome = await dispatch(db.service, {
    pairs: [],
    read: 1,
    wait: true,
    choose: () => list.map((run) => run.runId),
  });
  const items = outcome.kind === 'dispatched' ? outcome.items : [];
  return list.flatMap((run) => items.find((item) => item.runId === run.runId)?.dispatchNo ?? []);
}

/** As `dispatchRun`: ready to be claimed. */
export async function offerRun(db: Database, run: SeededRun): Promise<number> {
  const [hint] = await offerRuns(db, [run]);
  if (hint === undefined) throw new Error(`run ${run.runId} was not offered`);
  return hint.dispatchNo;
}

/** Dispatched, and found fresh just now: the hints that a worker claims with. */
export async function offerRuns(db: Database, list: readonly SeededRun[]): Promise<Hinted[]> {
  const numbers = await dispatchRuns(db, list);
  const hints = list.flatMap(({ runId }, at) => {
    const dispatchNo = numbers[at];
    return dispatchNo === undefined
      ? []
      : [
          {
            runId,
            dispatchNo,
            attemptId: systemIds.next('att'),
            leaseId: systemIds.next('lease'),
            judgedAgoMs: 0,
          },
        ];
  });
  return hints;
}

/** Dispatches and claims the run. */
export async function claimRun(db: Database, run: SeededRun, seed: ClaimSeed = {}): Promise<SeededLease> {
  const hinted = await offerRuns(db, [run]);
  const workerId = seed.workerId ?? (await seedWorker(db, { queueIds: [run.tenant.queueId] }));
  const result = await claim(db.service, {
    workerId,
    queueIds: [run.tenant.queueId],
    ttlMs: seed.ttlMs ?? 60_000,
    policyVersion: run.tenant.policyVersion,
    hinted,
    limit: 1,
    verdictMaxAgeMs: 30_000,
  });
  const claimed = result.kind === 'claimed' ? result.runs[0] : undefined;
  if (claimed === undefined) throw new Error(`run ${run.runId} was not claimed: ${result.kind}`);
  const { runId, fencingToken, leaseId, attemptId, attemptNo } = claimed;
  return { fence: { runId, fencingToken, leaseId }, attemptId, leaseId, workerId, attemptNo };
}

/** Ends the attempt with this outcome and returns the run's answer. */
export async function finishRun(
  db: Database,
  lease: SeededLease,
  result: AttemptOutcome,
  costUsd = 0,
): Promise<Awaited<ReturnType<typeof finish>> extends ReadonlyMap<RunId, infer Answer> ? Answer : never> {
  const { fence, attemptId, workerId } = lease;
  const answers = await finish(
    db.service,
    [{ fence, attemptId, result, costUsd, evidence: { test: true }, actor: `worker:${workerId}` }],
    () => 0.5,
  );
  const answer = answers.get(fence.runId);
  if (answer === undefined) throw new Error(`no answer for run ${fence.runId}`);
  return answer;
}

/** The lease runs out now; nobody has taken it. */
export async function expireLease(db: Database, runId: RunId): Promise<void> {
  await db.service.use((c) =>
    c.query(
      "update headgate.lease set expires_at = clock_timestamp() - interval '1 second' where run_id = $1",
      [runId],
    ),
  );
}

export interface RunInStatus extends SeededRun {
  /** Where the status holds, or has held, a lease. */
  readonly lease: SeededLease | null;
}

/** A new run that rests in `status`, with the rows that belong to it. */
export async function runInStatus(
  db: Database,
  status: RestingStatus,
  seed: Omit<RunSeed, 'status'> & { readonly claim?: ClaimSeed } = {},
): Promise<RunInStatus> {
  const { claim: claimSeed = {}, ...rest } = seed;
  if (status === 'QUEUED' || status === 'ADMITTED' || status === 'WAITING_APPROVAL') {
    return { ...(await seedRun(db, { ...rest, status })), lease: null };
  }
  const run = await seedRun(db, status === 'EXPIRED' ? { ...rest, timeToLiveMs: 0 } : rest);
  const withLease = async (): Promise<SeededLease> => claimRun(db, run, claimSeed);
  if (isLeased(status)) {
    const lease = await withLease();
    if (status !== 'CLAIMED') {
      await enterStages(db.service, [{ fence: lease.fence, to: status, actor: `worker:${lease.workerId}` }]);
    }
    return { ...run, lease };
  }
  switch (status) {
    case 'CANCEL_REQUESTED':
    case 'CANCELLING': {
      const lease = await withLease();
      await stop(db, run, 'cancel', 'CANCELLED_BY_USER');
      if (status === 'CANCELLING') await enterCancelling(db, run);
      return { ...run, lease };
    }
    case 'WAITING_CAPACITY': {
      const dispatchNo = await dispatchRun(db, run);
      const verdict = {
        kind: 'defer',
        reasonCode: 'SOURCE_UNAVAILABLE',
        delayMs: 3_600_000,
        detail: null,
      } as const;
      await writeVerdicts(db.service, [{ runId: run.runId, dispatchNo, verdict }], 'test');
      return { ...run, lease: null };
    }
    case 'SUCCEEDED':
    case 'FAILED': {
      const lease = await withLease();
      await finishRun(
        db,
        lease,
        status === 'SUCCEEDED'
          ? { kind: 'succeeded', reasonCode: 'SUCCEEDED' }
          : { kind: 'failed', reasonCode: 'SETUP_FAILED', detail: 'npm ci', retryAfterMs: null },
      );
      return { ...run, lease };
    }
    case 'CANCELLED':
      await stop(db, run, 'cancel', 'CANCELLED_BY_USER');
      return { ...run, lease: null };
    case 'SUPERSEDED':
      await stop(db, run, 'supersede', 'SUPERSEDED');
      return { ...run, lease: null };
    case 'NO_WORK':
    case 'POLICY_DENIED': {
      const dispatchNo = await dispatchRun(db, run);
      const reasonCode = status === 'NO_WORK' ? 'STALE_INPUT' : 'POLICY_DENIED';
      const verdict = { kind: 'end', to: status, reasonCode, detail: null } as const;
      await writeVerdicts(db.service, [{ runId: run.runId, dispatchNo, verdict }], 'test');
      return { ...run, lease: null };
    }
    case 'EXPIRED':
      await expireOverdue(db.service, 1, 'test');
      return { ...run, lease: null };
  }
}

const stop = (db: Database, run: SeededRun, kind: 'cancel' | 'supersede', reasonCode: ReasonCode) =>
  db.service.transaction((c) => stopRuns(c, [{ runId: run.runId, kind, reasonCode, actor: 'test' }]));

const enterCancelling = (db: Database, { runId }: SeededRun) =>
  db.service.transaction((c) =>
    runs.move(c, [{ runId, from: 'CANCEL_REQUESTED', to: 'CANCELLING', reasonCode: null, actor: 'test' }]),
  );
