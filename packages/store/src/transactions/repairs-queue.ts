/**
 * Repairs of queue items: one that is missing, one that is left over (Q27).
 *
 * Each is one transaction over proven rows (`repairs-prove`): conditional on what stands under the locks, and told
 * by one event for each run. Crash before COMMIT: nothing.
 */
import { isTerminal, type RunId, type RunStatus } from '@headgate/domain';
import type { Pool } from '../connection/database.js';
import { queueItems } from '../tables/queue-items.js';
import { type RestoredItem, restoredItems } from '../tables/restored-items.js';
import { runEvents } from '../tables/run-events.js';
import { walk } from './end-runs.js';
import {
  type Proven,
  prove,
  proveItemsWithoutRun,
  type Repaired,
  type RepairOptions,
} from './repairs-prove.js';

export interface EnqueueOptions extends RepairOptions {
  /** How long a run may rest ADMITTED without a wait that has a name. */
  readonly admittedForMs: number;
}

/**
 * Runs that nothing will dispatch: QUEUED or WAITING_CAPACITY without an item, WAITING_CAPACITY whose item went on
 * without it, ADMITTED for too long. Each is QUEUED afterwards, with an item (REPAIR_ENQUEUED).
 * @param items what each run's item would be, made from its row beforehand (a specification never changes).
 */
export function enqueueStranded(
  pool: Pool,
  items: readonly RestoredItem[],
  options: EnqueueOptions,
): Promise<readonly Repaired[]> {
  if (items.length === 0) return Promise.resolve([]);
  return pool.transaction(async (c) => {
    const proven = await prove(
      c,
      items.map((item) => item.runId),
    );
    const stranded = proven.filter((one) => isStranded(one, options.admittedForMs));
    const bare = new Set(stranded.filter((one) => one.standing.item === null).map((one) => one.run.runId));
    await restoredItems.insert(
      c,
      items.filter((item) => bare.has(item.runId)),
    );
    await walk(
      c,
      stranded
        .filter(({ run }) => run.status !== 'QUEUED')
        .map(({ run }) => ({
          runId: run.runId,
          from: run.status,
          actor: options.actor,
          steps: [{ to: 'QUEUED', reasonCode: null }],
        })),
    );
    await runEvents.append(
      c,
      stranded.map(({ run, standing }) => ({
        tenantId: run.tenantId,
        runId: run.runId,
        taskId: run.taskId,
        type: 'repair.enqueued',
        reasonCode: 'REPAIR_ENQUEUED',
        actor: options.actor,
        data: { status: standing.status, item: standing.item },
      })),
    );
    return stranded.map(({ run }) => run);
  });
}

function isStranded({ standing, restedMs }: Proven, admittedForMs: number): boolean {
  if (standing.isLeased) return false;
  switch (standing.status) {
    case 'QUEUED':
      return standing.item === null;
    case 'WAITING_CAPACITY':
      return standing.item !== 'delayed';
    case 'ADMITTED':
      return restedMs >= admittedForMs;
    default:
      return false;
  }
}

/**
 * Items where their run has no place for one: it has ended (REPAIR_ITEM_OF_TERMINAL), somebody holds it already, it
 * waits for a person, or there is no such run (REPAIR_ITEM_MISPLACED). They are removed.
 */
export function removeMisplacedItems(
  pool: Pool,
  runIds: readonly RunId[],
  options: RepairOptions,
): Promise<readonly (Repaired & { readonly reasonCode: ItemRepairCode })[]> {
  if (runIds.length === 0) return Promise.resolve([]);
  return pool.transaction(async (c) => {
    const proven = await prove(c, runIds);
    const known = proven.filter(hasMisplacedItem).map(({ run, standing }) => ({
      ...owner(run),
      status: standing.status,
      reasonCode: codeOf(run.status),
    }));
    const orphans = (await proveItemsWithoutRun(c, runIds)).map((item) => ({
      ...owner(item),
      status: null,
      reasonCode: codeOf(null),
    }));
    const all = [...known, ...orphans];
    await queueItems.remove(
      c,
      all.map((one) => one.runId),
    );
    await runEvents.append(
      c,
      all.map(({ status, ...one }) => ({
        ...one,
        type: 'repair.item_removed',
        actor: options.actor,
        data: { status },
      })),
    );
    return all;
  });
}

export type ItemRepairCode = 'REPAIR_ITEM_OF_TERMINAL' | 'REPAIR_ITEM_MISPLACED';
const codeOf = (status: RunStatus | null): ItemRepairCode =>
  status !== null && isTerminal(status) ? 'REPAIR_ITEM_OF_TERMINAL' : 'REPAIR_ITEM_MISPLACED';

const owner = <Row extends Pick<Proven['run'], 'runId' | 'tenantId' | 'taskId'>>({
  runId,
  tenantId,
  taskId,
}: Row): Pick<Proven['run'], 'runId' | 'tenantId' | 'taskId'> => ({ runId, tenantId, taskId });

function hasMisplacedItem({ run, standing, holdsItem }: Proven): boolean {
  if (!holdsItem || standing.item === null) return false;
  if (isTerminal(run.status)) return true;
  switch (run.status) {
    // An item may stand here for a moment no more: the run goes back to the queue by a transaction of its own.
    case 'ADMITTED':
    case 'WAITING_APPROVAL':
      return true;
    case 'QUEUED':
    case 'WAITING_CAPACITY':
    case 'STALE_LEASE':
    case 'FAILED_RETRYABLE':
      return false;
    default:
      return standing.isLeased;
  }
}
