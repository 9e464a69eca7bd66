/** Expired leases: their attempts end, their runs are tried again, failed or cancelled (Q4). */
import { formatId, type RunId } from '@headgate/domain';
import { type RunIdentity, reap, runIdentities, runs } from '@headgate/store';
import { metrics, runLogger, traceIdOf } from '@headgate/telemetry';
import type { Job, JobParts } from '../job.js';

export const reapExpired: Job = {
  name: 'reap',
  repairs: 'A lease ran out: its worker died, froze, or cannot reach the database.',
  reasonCodes: ['WORKER_LOST', 'WALL_CLOCK_EXCEEDED', 'MASS_EXPIRY'],
  period: 'reap',
  limit: 200,
  make: (parts) => async () => {
    const { context, actor, limit, report } = parts;
    const result = await reap(context.database.service, {
      limit,
      actor,
      graceMs: context.policy.current().policy.lease.ttlMs,
      random: context.random,
    });
    if (result.kind === 'graced') {
      report.repaired('MASS_EXPIRY', result.leases.length);
      return 'idle';
    }
    await tell(parts, result);
    return result.runs.length >= limit ? 'busy' : 'idle';
  },
};

type ReapedResult = Extract<Awaited<ReturnType<typeof reap>>, { kind: 'reaped' }>;

/** After the commit: a line for each run, and the figures. */
async function tell({ context, report }: JobParts, { runs: reaped, refused }: ReapedResult): Promise<void> {
  if (reaped.length === 0 && refused.length === 0) return;
  const ids = [...reaped, ...refused].map(({ runId }) => runId);
  const { known, ended } = await context.database.service.use(async (c) => ({
    known: await runIdentities.read(c, ids),
    ended: await runs.endings(
      c,
      reaped.map((run) => run.runId),
    ),
  }));
  for (const { runId, fault } of refused) report.refused(fault, namesOf(runId, known.get(runId)));
  if (reaped.length > 0) metrics.leaseExpired.add(reaped.length);
  for (const { runId, leaseId, fencingToken, reasonCode, status } of reaped) {
    if (status === 'QUEUED') metrics.retry.add(1, { reason_code: reasonCode });
    const names = { ...namesOf(runId, known.get(runId)), leaseId: formatId('lease', leaseId) };
    runLogger(context.logger, names).warn({ fencingToken, reasonCode, status }, 'an expired lease was taken');
  }
  for (const { status, ranSeconds, cancelledAfterSeconds } of ended) {
    if (ranSeconds !== null) metrics.runDuration.record(ranSeconds, { status });
    if (status === 'CANCELLED' && cancelledAfterSeconds !== null) {
      metrics.cancellationLatency.record(cancelledAfterSeconds);
    }
  }
}

function namesOf(runId: RunId, known: RunIdentity | undefined) {
  return {
    runId: formatId('run', runId),
    ...(known === undefined
      ? {}
      : {
          tenant: known.tenant,
          workKey: known.workKey,
          ...(known.attempt === null ? {} : { attempt: known.attempt }),
          ...(known.leaseId === null ? {} : { leaseId: formatId('lease', known.leaseId) }),
          ...(known.workerId === null ? {} : { workerId: formatId('wkr', known.workerId) }),
          traceId: traceIdOf(known.traceparent),
        }),
  };
}
