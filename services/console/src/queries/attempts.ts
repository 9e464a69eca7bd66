/** The attempts of a run: each with the lease it held, or only their numbers, for what lies on disk under them. */
import {
  type AttemptId,
  formatId,
  type LeaseId,
  type ReasonCode,
  type RunId,
  type WorkerId,
} from '@headgate/domain';
import type { AttemptLease, RunAttempt } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { sql } from 'drizzle-orm';
import { instantOf, instantOrNull } from './instants.js';
import { rows } from './read.js';

interface AttemptRow {
  readonly id: AttemptId;
  readonly number: number;
  readonly workerId: WorkerId;
  readonly leaseId: LeaseId;
  readonly fencingToken: string;
  readonly status: RunAttempt['status'];
  readonly reasonCode: ReasonCode | null;
  readonly detail: string | null;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  readonly costUsd: number;
  readonly evidence: unknown;
  readonly renewals: number | null;
  readonly renewedAt: Date | null;
  readonly expiresAt: Date | null;
}

/** Oldest first. Of a lease that is held its row speaks; of one that is gone, what the attempt took over from it. */
export async function attemptsOf(c: Connection, runId: RunId): Promise<RunAttempt[]> {
  const found = await rows<AttemptRow>(
    c,
    sql`select a.id, a.number, a.worker_id as "workerId", a.lease_id as "leaseId", a.fencing_token as "fencingToken",
               a.status, a.reason_code as "reasonCode", a.detail, a.started_at as "startedAt",
               a.finished_at as "finishedAt", a.cost_usd as "costUsd", a.evidence,
               coalesce(l.renewals, a.lease_renewals) as renewals,
               coalesce(l.renewed_at, a.lease_renewed_at) as "renewedAt",
               coalesce(l.expires_at, a.lease_expires_at) as "expiresAt"
          from headgate.attempt a left join headgate.lease l on l.run_id = a.run_id and l.attempt_id = a.id
         where a.run_id = ${runId}::uuid order by a.number`,
  );
  return found.map((row) => {
    const { renewals: _renewals, renewedAt: _renewedAt, expiresAt: _expiresAt, ...attempt } = row;
    return {
      ...attempt,
      id: formatId('att', row.id),
      workerId: formatId('wkr', row.workerId),
      leaseId: formatId('lease', row.leaseId),
      startedAt: instantOf(row.startedAt),
      finishedAt: instantOrNull(row.finishedAt),
      lease: leaseOf(row),
    };
  });
}

function leaseOf({
  status,
  startedAt,
  finishedAt,
  renewals,
  renewedAt,
  expiresAt,
}: AttemptRow): AttemptLease {
  const isLost = status === 'lost';
  return {
    // An attempt begins in the transaction that takes its lease.
    acquiredAt: instantOf(startedAt),
    expiresAt: instantOrNull(expiresAt),
    renewedAt: instantOrNull(renewedAt),
    beatMs:
      renewals === null || renewals === 0 || renewedAt === null
        ? null
        : Math.round((renewedAt.getTime() - startedAt.getTime()) / renewals),
    renewals,
    releasedAt: isLost ? null : instantOrNull(finishedAt),
    lostAt: isLost ? instantOrNull(finishedAt) : null,
  };
}

export interface AttemptNumber {
  readonly number: number;
  readonly isRunning: boolean;
}

/** Oldest first; none: no attempt, no such run, or not the caller's. */
export const attemptNumbers = (c: Connection, runId: RunId): Promise<AttemptNumber[]> =>
  rows<AttemptNumber>(
    c,
    sql`select number, status = 'running' as "isRunning" from headgate.attempt
         where run_id = ${runId}::uuid order by number`,
  );

/** Whether there is such a run, for the caller. */
export async function runExists(c: Connection, runId: RunId): Promise<boolean> {
  const found = await rows(c, sql`select 1 as found from headgate.run where id = ${runId}::uuid`);
  return found.length > 0;
}
