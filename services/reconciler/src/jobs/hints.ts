/**
 * Hints, in both directions: dispatched items without one are hinted again, hints without a dispatched item are
 * removed. Redis decides nothing: a wrong removal or a doubled hint costs latency only (law 1).
 */
import { hintOverdue, readHintStandings, tellHintsRemoved } from '@headgate/store';
import { hintJobIdOf, type WaitingHint } from '@headgate/transport';
import type { Job, JobParts } from '../job.js';

export const missingHints: Job = {
  name: 'missing-hints',
  repairs: 'An item is dispatched, nobody claims it, and no scheduler hints again or takes it back.',
  reasonCodes: ['REPAIR_HINT_RESENT'],
  period: 'repair',
  limit: 500,
  make:
    ({ context, dispatcher, actor, timing, limit, report }) =>
    async () => {
      // Without Redis there is nobody to hint: workers poll.
      if (context.bus.health().state !== 'healthy') return 'idle';
      const options = { actor, lateByMs: timing.lateMs, limit };
      const items = await hintOverdue(context.database.service, options);
      if (items.length > 0) await dispatcher.publish(items);
      report.repaired('REPAIR_HINT_RESENT', items.length, { runs: items.map((item) => item.runId) });
      return items.length >= limit ? 'busy' : 'idle';
    },
};

export const strayHints: Job = {
  name: 'stray-hints',
  repairs: 'A hint lies in Redis for a dispatch that is over, or was never made.',
  reasonCodes: ['REPAIR_HINT_REMOVED'],
  period: 'repair',
  /** Of each queue. */
  limit: 500,
  make: (parts) => async () => {
    if (parts.context.bus.health().state !== 'healthy') return 'idle';
    for (const queue of parts.context.policy.current().policy.queues) await sweep(parts, queue.id);
    return 'idle';
  },
};

/** The oldest hints of one queue. Young ones are left: a worker takes them, or drops them unseen. */
async function sweep(parts: JobParts, queue: string): Promise<void> {
  const { context, timing, limit, actor, report } = parts;
  const listed = await context.bus.listHints(queue, limit);
  if (!listed.ok) return;
  const youngestMs = context.clock.now().getTime() - timing.lateMs;
  const old = listed.value.filter(({ hint }) => hint === null || hint.publishedAt.getTime() <= youngestMs);
  const standings = await context.database.service.use((c) =>
    readHintStandings(
      c,
      old.flatMap(({ hint }) => hint ?? []),
    ),
  );
  const standing = new Map(standings.map((one) => [hintJobIdOf(one.runId, one.dispatchNo), one]));
  const removed: WaitingHint[] = [];
  for (const waiting of old) {
    if (standing.get(waiting.jobId)?.isStanding === true) continue;
    const answer = await context.bus.removeHint(queue, waiting.jobId);
    if (!answer.ok) break;
    if (answer.value) removed.push(waiting);
  }
  const told = removed.flatMap(({ jobId }) => standing.get(jobId) ?? []);
  if (told.length > 0) await context.database.service.use((c) => tellHintsRemoved(c, told, { actor }));
  report.repaired('REPAIR_HINT_REMOVED', removed.length, { queue, jobs: removed.map((one) => one.jobId) });
}
