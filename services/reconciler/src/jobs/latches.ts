/** Latches whose waiting signal is gone. */
import { latchedSubmission } from '@headgate/admission';
import type { TaskId } from '@headgate/domain';
import { type BrokenLatch, findBrokenLatches, payloads, repairLatch } from '@headgate/store';
import type { Job, JobParts } from '../job.js';
import { halving } from '../one-bad-row.js';

export const brokenLatches: Job = {
  name: 'broken-latches',
  repairs: 'A task names a version that comes next, and nothing waits to bring it.',
  reasonCodes: ['REPAIR_LATCH_RELEASED'],
  period: 'repair',
  limit: 50,
  make: (parts) => {
    let after: TaskId | null = null;
    return async () => {
      const { context, limit, report } = parts;
      const broken = await context.database.service.use((c) => findBrokenLatches(c, after, limit));
      // A latch that cannot be repaired must not hide those behind it.
      after = broken.length >= limit ? (broken.at(-1)?.taskId ?? null) : null;
      for (const latch of broken) {
        await halving(
          [latch],
          async ([one]) => (one === undefined ? [] : [await repair(parts, one)]),
          (fault) => report.refused(fault, { task: latch.taskId }),
        );
      }
      return after === null ? 'idle' : 'busy';
    };
  },
};

async function repair({ context, actor, report }: JobParts, latch: BrokenLatch): Promise<void> {
  const pool = context.database.service;
  const payload = await pool.use((c) => payloads.read(c, latch.receiptId));
  const candidate = latchedSubmission(latch, payload);
  const deferredId = context.ids.next('dfr');
  const result = await repairLatch(pool, { latch, deferredId, candidate }, { actor });
  if (result !== 'unchanged') {
    report.repaired('REPAIR_LATCH_RELEASED', 1, { task: latch.taskId, result });
  }
}
