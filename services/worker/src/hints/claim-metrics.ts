/** What is counted about a claim. */
import type { ClaimedRun } from '@headgate/store';
import { metrics } from '@headgate/telemetry';
import type { Registered } from '../registration.js';
import type { Judged } from './judge-run.js';

export function countClaimed(claimed: readonly ClaimedRun[]): void {
  if (claimed.length > 0) metrics.claimBatchSize.record(claimed.length);
  for (const run of claimed) {
    metrics.claimSuccess.add(1, { queue_name: run.queue });
    if (run.firstStartedAt !== null) continue;
    const waitedMs = run.acquiredAt.getTime() - run.createdAt.getTime();
    metrics.startDelay.record(Math.max(0, waitedMs) / 1000, { queue_name: run.queue });
  }
}

/** Others had taken all of it. */
export function countEmpty(fresh: readonly Judged[], me: Registered): void {
  const queues = fresh.map(({ run }) => me.queues[me.queueIds.indexOf(run.queueId)]);
  for (const queue of new Set(queues)) {
    if (queue !== undefined) metrics.claimEmpty.add(1, { queue_name: queue });
  }
}
