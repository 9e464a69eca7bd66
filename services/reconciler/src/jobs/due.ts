/** What others should have done in time, done late: a scheduler, a worker, or a run that is gone. */
import { declareWorkersDead, promoteOverdue, releaseOrphanLatches, tellPromotedLate } from '@headgate/store';
import type { Job } from '../job.js';

export const overdueItems: Job = {
  name: 'overdue-items',
  repairs: 'A delayed item was due long ago and no scheduler has promoted it.',
  reasonCodes: ['REPAIR_DUE_PROMOTED'],
  period: 'repair',
  limit: 500,
  make:
    ({ context, actor, timing, limit, report }) =>
    async () => {
      const options = { actor, lateByMs: timing.lateMs, limit };
      const promoted = await promoteOverdue(context.database.service, options);
      report.repaired('REPAIR_DUE_PROMOTED', promoted.length, { runs: promoted.map((run) => run.runId) });
      return promoted.length >= limit ? 'busy' : 'idle';
    },
};

export const overdueSignals: Job = {
  name: 'overdue-signals',
  repairs: 'A deferred signal was due long ago and nobody has decided it.',
  reasonCodes: ['REPAIR_DUE_PROMOTED'],
  period: 'repair',
  limit: 200,
  make:
    ({ context, admission, actor, timing, limit, report }) =>
    async () => {
      // The one insert path isolates a bad one itself, and puts it off.
      const decided = await admission.promoteOverdue(limit, timing.lateMs);
      if (decided.length > 0) {
        await context.database.service.use((c) => tellPromotedLate(c, decided, { actor }));
        report.repaired('REPAIR_DUE_PROMOTED', decided.length, {
          receipts: decided.map((signal) => signal.receiptId),
        });
      }
      return decided.length >= limit ? 'busy' : 'idle';
    },
};

export const deadWorkers: Job = {
  name: 'dead-workers',
  repairs: "A worker's heartbeat is older than two lease TTLs.",
  reasonCodes: ['REPAIR_WORKER_DEAD'],
  period: 'repair',
  limit: 100,
  make:
    ({ context, actor, limit, report }) =>
    async () => {
      const dead = await declareWorkersDead(context.database.service, limit, { actor });
      for (const { id, name } of dead) report.repaired('REPAIR_WORKER_DEAD', 1, { worker: id, name });
      return dead.length >= limit ? 'busy' : 'idle';
    },
};

export const orphanLatches: Job = {
  name: 'orphan-latches',
  repairs: 'A version waits behind a run that is gone without having released it.',
  reasonCodes: ['REPAIR_LATCH_RELEASED'],
  period: 'repair',
  limit: 100,
  make:
    ({ context, actor, limit, report }) =>
    async () => {
      const released = await releaseOrphanLatches(context.database.service, limit, { actor });
      report.repaired('REPAIR_LATCH_RELEASED', released.length, {
        tasks: released.map((latch) => latch.taskId),
      });
      return released.length >= limit ? 'busy' : 'idle';
    },
};
