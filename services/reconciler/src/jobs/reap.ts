/** Expired leases: their attempts end, their runs are tried again, failed or cancelled (Q4). */
import { reap, runs } from '@headgate/store';
import { metrics } from '@headgate/telemetry';
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
    for (const { runId, fault } of result.refused) report.refused(fault, { runId });
    await count(parts, result.runs);
    return result.runs.length >= limit ? 'busy' : 'idle';
  },
};

async function count(
  { context }: JobParts,
  reaped: Extract<Awaited<ReturnType<typeof reap>>, { kind: 'reaped' }>['runs'],
): Promise<void> {
  if (reaped.length === 0) return;
  metrics.leaseExpired.add(reaped.length);
  for (const { runId, leaseId, fencingToken, reasonCode, status } of reaped) {
    if (status === 'QUEUED') metrics.retry.add(1, { reason_code: reasonCode });
    context.logger.warn(
      { run: runId, lease: leaseId, fencingToken, reasonCode, status },
      'an expired lease was taken',
    );
  }
  const ended = await context.database.service.use((c) =>
    runs.endings(
      c,
      reaped.map((run) => run.runId),
    ),
  );
  for (const { status, ranSeconds, cancelledAfterSeconds } of ended) {
    if (ranSeconds !== null) metrics.runDuration.record(ranSeconds, { status });
    if (status === 'CANCELLED' && cancelledAfterSeconds !== null) {
      metrics.cancellationLatency.record(cancelledAfterSeconds);
    }
  }
}
