/**
 * Claim: from a dispatched item to a fenced lease, for as many runs as the worker has slots (Q13).
 *
 * Who may write: only the worker that was told (run id, dispatch number) and has just found the run fresh (I6). The
 * verdict travels with the claim and is written nowhere: it is worth something to this claim alone, and (run id,
 * dispatch number) fences both. Its age is counted by the worker until it asks, and by the database from there, so that
 * a wait for the policy lock is part of it.
 * Lock order: policy (shared, own statement), item (SKIP LOCKED), lease, run.
 *  - two workers with the same hint: SKIP LOCKED gives the item to one; the other finds nothing and drops the hint.
 *  - claim against cancel: see stop-runs. Against supersede: the same.
 *  - claim against activation of a policy: the shared lock is taken before the head is read, so a claim under the
 *    old head has committed before the new one counts.
 *  - rivals for an exclusive key: `on conflict do nothing`; the loser's item goes back to ready with
 *    CONCURRENCY_KEY_BUSY, uncharged.
 * One round trip: each statement finds what the ones before it took by the lease ids that the claimant made.
 * Crash before COMMIT: the item is dispatched still; it is hinted again after 5 s and taken back after 30 s.
 * COMMIT without an answer: read back by lease id, which the caller made. Crash after COMMIT: the lease expires and
 * the reaper takes it. Execution is outside any transaction.
 */
import {
  type AttemptId,
  formatId,
  type LeaseId,
  type RetryCounters,
  type RunId,
  type WorkerId,
} from '@headgate/domain';
import { HISTORY_OPS, record } from '@headgate/telemetry';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { tell } from '../history.js';
import { locks } from '../locks.js';
import { attempts } from '../tables/attempts.js';
import { policies } from '../tables/policies.js';
import { runs } from '../tables/runs.js';
import { workers } from '../tables/workers.js';
import { LEASE_COLUMNS, RUN_COLUMNS, type TakenRun, takeLeases } from './take-leases.js';

export interface Hinted {
  readonly runId: RunId;
  readonly dispatchNo: number;
  /** Of this claim alone: what it took is found by them. */
  readonly attemptId: AttemptId;
  readonly leaseId: LeaseId;
  /** How long ago the claimant began to find it fresh. */
  readonly judgedAgoMs: number;
}

export interface ClaimRequest {
  readonly workerId: WorkerId;
  readonly queueIds: readonly number[];
  readonly ttlMs: number;
  /** The policy version this worker decides by. */
  readonly policyVersion: number;
  readonly hinted: readonly Hinted[];
  /** Free slots. */
  readonly limit: number;
  /** How old a verdict may be. */
  readonly verdictMaxAgeMs: number;
}

/** A run as its claimant holds it. The specification, which never changes, is what it was judged by. */
export interface ClaimedRun extends Omit<TakenRun, keyof RetryCounters> {
  readonly attemptNo: number;
  readonly failures: RetryCounters;
}

export type ClaimResult =
  | { readonly kind: 'claimed'; readonly runs: readonly ClaimedRun[]; readonly busy: readonly RunId[] }
  /** The active policy is another: reload, write new verdicts, try again. */
  | { readonly kind: 'policy-changed'; readonly head: number | null }
  /** This worker's row is gone, draining or declared dead. */
  | { readonly kind: 'not-ready' };

export async function claim(pool: Pool, asked: ClaimRequest): Promise<ClaimResult> {
  if (asked.hinted.length === 0 || asked.limit <= 0) return { kind: 'claimed', runs: [], busy: [] };
  const request = { ...asked, hinted: eachOnce(asked.hinted) };
  const key = request.workerId;
  const op = HISTORY_OPS.claim;
  record({ type: 'invoke', op, key, result: { limit: request.limit } });
  try {
    const result = await pool.transaction((c) => claimOnce(c, request), {
      readBack: (c) => readBack(c, request),
    });
    for (const run of result.kind === 'claimed' ? result.runs : []) {
      const { acquiredAt, expiresAt } = run;
      tell.took(op, { ...run, key }, { acquiredAt, expiresAt });
    }
    return result;
  } catch (fault) {
    record({ type: 'info', op, key, result: { fault: String(fault) } });
    throw fault;
  }
}

/** A dispatch that was mentioned twice is claimed once. */
const eachOnce = (hinted: readonly Hinted[]): readonly Hinted[] => [
  ...new Map(hinted.map((hint) => [`${hint.runId}-${hint.dispatchNo}`, hint])).values(),
];

async function claimOnce(c: Connection, request: ClaimRequest): Promise<ClaimResult> {
  const runIds = request.hinted.map((hint) => hint.runId);
  const leaseIds = request.hinted.map((hint) => hint.leaseId);
  // In this order on the wire, each with a snapshot of its own: the head is read once the policy lock is held, and an attempt
  // takes its number from the run that has moved.
  const [, head, ready, { taken, busy }, , numbers] = await c.last(() =>
    Promise.all([
      locks.policyShared(c),
      policies.headVersion(c),
      workers.isReady(c, request.workerId),
      takeLeases(c, request),
      runs.claim(c, runIds, leaseIds, `worker:${formatId('wkr', request.workerId)}`),
      attempts.start(c, runIds, leaseIds),
    ]),
  );
  if (taken.length === 0 && head !== request.policyVersion) return { kind: 'policy-changed', head };
  if (taken.length === 0 && !ready) return { kind: 'not-ready' };
  return { kind: 'claimed', runs: claimedRuns(taken, numbers), busy };
}

const readTaken = statement(
  'claim.read_back',
  `select ${RUN_COLUMNS}, ${LEASE_COLUMNS}, a.number
     from headgate.lease l join headgate.attempt a on a.id = l.attempt_id join headgate.run r on r.id = l.run_id
     join unnest($1::uuid[], $2::uuid[]) as mine(run_id, lease_id)
       on mine.run_id = l.run_id and mine.lease_id = l.lease_id`,
);

/** The leases that a claim left whose COMMIT had no answer; null = none, so it may be tried again. */
async function readBack(c: Connection, request: ClaimRequest): Promise<ClaimResult | null> {
  const held = await c.run<TakenRun & { number: number }>(readTaken, [
    request.hinted.map((hint) => hint.runId),
    request.hinted.map((hint) => hint.leaseId),
  ]);
  if (held.length === 0) return null;
  return { kind: 'claimed', runs: claimedRuns(held, held), busy: [] };
}

function claimedRuns(
  taken: readonly TakenRun[],
  numbers: readonly { runId: RunId; number: number }[],
): readonly ClaimedRun[] {
  const numberOf = new Map(numbers.map((row) => [row.runId, row.number]));
  return taken.flatMap((run) => {
    const attemptNo = numberOf.get(run.runId);
    return attemptNo === undefined ? [] : [claimedRun(run, attemptNo)];
  });
}

function claimedRun(run: TakenRun, attemptNo: number): ClaimedRun {
  const { application, infrastructure, leaseLost, rateLimit, ...told } = run;
  return { ...told, attemptNo, failures: { application, infrastructure, leaseLost, rateLimit } };
}
