/** Runs that are not where their status says (Q27). */
import { itemsOfRuns } from '@headgate/admission';
import type { RunId } from '@headgate/domain';
import {
  endLostAttempts,
  endUnleased,
  enqueueStranded,
  type MovedOn,
  movePassing,
  type RestoredItem,
  removeLeasesOfEnded,
  removeMisplacedItems,
} from '@headgate/store';
import { metrics } from '@headgate/telemetry';
import type { Job, JobParts } from '../job.js';
import { halving } from '../one-bad-row.js';
import { hasOneOf, walking } from './walk.js';

const PAGE = 1_000;
/** Rows that one repair locks at once. */
const BATCH = 100;

/** Makes the suspects' items and hands both over in batches; a row that the database refuses stands alone. */
async function inBatches<Out>(
  parts: JobParts,
  runIds: readonly RunId[],
  repair: (items: readonly RestoredItem[]) => Promise<readonly Out[]>,
): Promise<readonly Out[]> {
  const { context, report } = parts;
  const { dimensions, database } = context;
  const refused = (fault: unknown, runId: RunId) => report.refused(fault, { run: runId });
  const repaired: Out[] = [];
  for (const batch of batchesOf(runIds)) {
    const one = async (part: readonly RunId[]): Promise<readonly Out[]> =>
      repair(await itemsOfRuns({ pool: database.service, dimensions }, part));
    repaired.push(...(await halving(batch, one, refused)));
  }
  return repaired;
}

function* batchesOf(runIds: readonly RunId[]): Generator<readonly RunId[]> {
  for (let at = 0; at < runIds.length; at += BATCH) yield runIds.slice(at, at + BATCH);
}

export const strandedRuns: Job = {
  name: 'stranded-runs',
  repairs: 'A run waits and nothing will ever dispatch it.',
  reasonCodes: ['REPAIR_ENQUEUED'],
  period: 'repair',
  limit: PAGE,
  make: (parts) => {
    const { context, actor, timing, report } = parts;
    return walking(parts, {
      along: 'versions',
      concerns: (suspect) => suspect.isStranded || hasOneOf('item-missing', 'item-not-delayed')(suspect),
      repair: async (runIds) => {
        const options = { actor, admittedForMs: timing.lateMs };
        const repaired = await inBatches(parts, runIds, (items) =>
          enqueueStranded(context.database.service, items, options),
        );
        report.repaired('REPAIR_ENQUEUED', repaired.length, { runs: repaired.map((run) => run.runId) });
      },
    });
  },
};

const movedOn = (parts: JobParts, moved: readonly MovedOn[]): void => {
  for (const { runId, status, reasonCode } of moved) {
    if (status === 'QUEUED') metrics.retry.add(1, { reason_code: 'WORKER_LOST' });
    parts.report.repaired(reasonCode, 1, { run: runId, status });
  }
};

export const unleasedRuns: Job = {
  name: 'unleased-runs',
  repairs: 'A run should be held by a worker and no lease stands: it counts as lost.',
  reasonCodes: ['REPAIR_RUN_WITHOUT_LEASE'],
  period: 'repair',
  limit: PAGE,
  make: (parts) => {
    const { context, actor } = parts;
    return walking(parts, {
      along: 'versions',
      concerns: hasOneOf('lease-missing'),
      repair: async (runIds) => {
        const options = { actor, random: context.random };
        const work = (items: readonly RestoredItem[]) =>
          endUnleased(context.database.service, items, options);
        movedOn(parts, await inBatches(parts, runIds, work));
      },
    });
  },
};

export const passingRuns: Job = {
  name: 'passing-runs',
  repairs: 'A run rests in a status through which it only passes.',
  reasonCodes: ['REPAIR_ENQUEUED', 'REPAIR_RUN_WITHOUT_LEASE'],
  period: 'repair',
  limit: PAGE,
  make: (parts) => {
    const { context, actor } = parts;
    return walking(parts, {
      along: 'versions',
      concerns: hasOneOf('stuck-in-passing'),
      repair: async (runIds) => {
        const options = { actor, random: context.random };
        const work = (items: readonly RestoredItem[]) =>
          movePassing(context.database.service, items, options);
        movedOn(parts, await inBatches(parts, runIds, work));
      },
    });
  },
};

export const misplacedItems: Job = {
  name: 'misplaced-items',
  repairs: 'A queue item stands for a run that has ended, is held already, or does not exist.',
  reasonCodes: ['REPAIR_ITEM_OF_TERMINAL', 'REPAIR_ITEM_MISPLACED'],
  period: 'repair',
  limit: PAGE,
  make: (parts) => {
    const { context, actor, report } = parts;
    return walking(parts, {
      along: 'items',
      concerns: hasOneOf('item-of-ended', 'item-misplaced', 'item-without-run'),
      repair: async (runIds) => {
        for (const batch of batchesOf(runIds)) {
          const removed = await halving(
            batch,
            (part) => removeMisplacedItems(context.database.service, part, { actor }),
            (fault, run) => report.refused(fault, { run }),
          );
          for (const { runId, reasonCode } of removed) report.repaired(reasonCode, 1, { run: runId });
        }
      },
    });
  },
};

export const leasesOfEnded: Job = {
  name: 'leases-of-ended',
  repairs: 'A lease stands for a run that has ended: its slot is given back.',
  reasonCodes: ['REPAIR_LEASE_OF_TERMINAL'],
  period: 'repair',
  limit: PAGE,
  make: (parts) => {
    const { context, actor, report } = parts;
    return walking(parts, {
      along: 'leases',
      concerns: hasOneOf('lease-of-ended'),
      repair: async (runIds) => {
        for (const batch of batchesOf(runIds)) {
          const removed = await halving(
            batch,
            (part) => removeLeasesOfEnded(context.database.service, part, { actor }),
            (fault, run) => report.refused(fault, { run }),
          );
          for (const { runId } of removed) report.repaired('REPAIR_LEASE_OF_TERMINAL', 1, { run: runId });
        }
      },
    });
  },
};

export const lostAttempts: Job = {
  name: 'lost-attempts',
  repairs: 'An attempt counts as running although its lease is gone and its run has moved on.',
  reasonCodes: ['REPAIR_OVERLONG_ATTEMPT'],
  period: 'repair',
  limit: BATCH,
  make:
    ({ context, actor, limit, report }) =>
    async () => {
      const ended = await endLostAttempts(context.database.service, limit, { actor });
      for (const { runId, attemptId } of ended) {
        report.repaired('REPAIR_OVERLONG_ATTEMPT', 1, { run: runId, attempt: attemptId });
      }
      return ended.length >= limit ? 'busy' : 'idle';
    },
};
