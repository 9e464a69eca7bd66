/**
 * What an ended attempt writes, whoever ended it: finish and reaper.
 *
 * Runs inside its caller's transaction, which holds the lease rows and the run rows. Everything is sent at once and done
 * in this order: nothing here is decided by an answer.
 */
import { isTerminal, type RetryCounters, type RunId, type RunStatus } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { approvals } from '../tables/approvals.js';
import { type AttemptEnd, attempts } from '../tables/attempts.js';
import { leases } from '../tables/leases.js';
import { queueItems } from '../tables/queue-items.js';
import { type RunEvent, runEvents } from '../tables/run-events.js';
import { runs } from '../tables/runs.js';
import { tenantDays } from '../tables/tenant-days.js';
import { closeRuns, type Walk, walk } from './end-runs.js';
import type { Proposal } from './finish-request.js';

/** All that one ended attempt writes. */
export interface Ending {
  readonly runId: RunId;
  /** Stages that it went through and nobody has written: each leaves its event before the end's. */
  readonly passed: readonly RunEvent[];
  readonly walk: Walk;
  readonly status: RunStatus;
  /** Null: as they were. Most runs end well, and an update that changes nothing is written all the same. */
  readonly counters: RetryCounters | null;
  readonly attempt: AttemptEnd;
  /** Null: it is not queued again. */
  readonly requeueDelayMs: number | null;
  readonly deadLetter: boolean;
  /** Null: it does not wait for a person. */
  readonly proposal: Proposal | null;
}

/** Returns the runs behind which a version waited: it is due now. */
export async function writeEndings(c: Connection, endings: readonly Ending[]): Promise<ReadonlySet<RunId>> {
  if (endings.length === 0) return new Set();
  const ended = endings.filter((e) => isTerminal(e.status));
  const written = [
    attempts.finish(
      c,
      endings.map((e) => e.attempt),
    ),
    runs.setCounters(
      c,
      endings.flatMap((e) => (e.counters === null ? [] : [{ runId: e.runId, ...e.counters }])),
    ),
    runs.addCost(
      c,
      endings.map((e) => ({ runId: e.runId, costUsd: e.attempt.costUsd })),
    ),
    tenantDays.settle(
      c,
      endings.filter((e) => e.attempt.costUsd > 0).map((e) => e.attempt.attemptId),
    ),
    queueItems.requeue(
      c,
      endings.flatMap((e) =>
        e.requeueDelayMs === null ? [] : [{ runId: e.runId, delayMs: e.requeueDelayMs }],
      ),
    ),
    approvals.request(
      c,
      endings.flatMap(({ runId, proposal }) =>
        proposal === null ? [] : [{ ...proposal, runId, subject: 'proposal' as const }],
      ),
    ),
    leases.release(
      c,
      endings.map((e) => e.runId),
    ),
    runEvents.append(
      c,
      endings.flatMap((e) => e.passed),
    ),
    walk(
      c,
      endings.map((e) => e.walk),
    ),
  ];
  const followed = closeRuns(
    c,
    ended.map((e) => e.runId),
    ended.filter((e) => e.deadLetter).map((e) => e.runId),
  );
  await Promise.all([...written, followed]);
  return followed;
}
