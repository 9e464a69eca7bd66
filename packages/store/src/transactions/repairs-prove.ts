/**
 * The proof before a repair: the rows are locked, then looked at once more with a new snapshot.
 *
 * Whoever moves a run writes status, item and lease in one transaction that locks the run. So while we hold the run's
 * row, either all of such a transaction is visible or none of it; what disagrees then is wrong, and stays so until
 * we commit. That is why no repair needs to look twice over time.
 *
 * Lock order: item, lease, run, each in run id order and with SKIP LOCKED: a row that somebody works on is left
 * alone until the next round, and two reconcilers share the work instead of waiting for each other.
 */
import type { RunId, Standing, TaskId } from '@headgate/domain';
import { failPoint } from '@headgate/telemetry';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';
import { type LockedRun, runs } from '../tables/runs.js';

/** What every repair is told. */
export interface RepairOptions {
  readonly actor: string;
}

export interface Repaired {
  readonly runId: RunId;
  readonly tenantId: number;
}

/** A run that is locked by this transaction, with the hot rows that stand for it. */
export interface Proven {
  readonly run: LockedRun;
  readonly standing: Standing;
  /** Since its status last changed. */
  readonly restedMs: number;
  /** Whether the hot rows that exist are locked too. */
  readonly holdsItem: boolean;
  readonly holdsLease: boolean;
}

interface HotRow {
  readonly runId: RunId;
  readonly tenantId: number;
  readonly taskId: TaskId;
}

const skipLocked = (name: string, table: string): ReturnType<typeof statement> =>
  statement(
    name,
    `select run_id as "runId", tenant_id as "tenantId", task_id as "taskId" from headgate.${table}
      where run_id = any ($1::uuid[]) order by run_id for update skip locked`,
  );
const lockItems = skipLocked('repair.lock_items', 'queue_item');
const lockLeases = skipLocked('repair.lock_leases', 'lease');
const lockRuns = statement(
  'repair.lock_runs',
  'select id as "runId" from headgate.run where id = any ($1::uuid[]) order by id for update skip locked',
);
const look = statement(
  'repair.look',
  `select r.id as "runId", r.status, q.state as item, l.run_id is not null as "isLeased",
          (extract(epoch from clock_timestamp() - r.status_at) * 1000)::float8 as "restedMs"
     from headgate.run r
     left join headgate.queue_item q on q.run_id = r.id
     left join headgate.lease l on l.run_id = r.id
    where r.id = any ($1::uuid[])`,
);
const unknownRuns = statement(
  'repair.unknown_runs',
  `select g.id as "runId" from unnest($1::uuid[]) as g(id)
    where not exists (select 1 from headgate.run r where r.id = g.id)`,
);

/** The runs of `runIds` that nobody else works on. */
export async function prove(c: Connection, runIds: readonly RunId[]): Promise<readonly Proven[]> {
  const ids = [...new Set(runIds)];
  const [items, leases, lockedRuns] = await Promise.all([
    c.run<HotRow>(lockItems, [ids]),
    c.run<HotRow>(lockLeases, [ids]),
    c.run<{ runId: RunId }>(lockRuns, [ids]),
  ]);
  const held = lockedRuns.map((row) => row.runId);
  const [locked, standings] = await Promise.all([
    runs.lock(c, held, { withRetry: true }),
    c.run<Standing & { runId: RunId; restedMs: number }>(look, [held]),
  ]);
  await failPoint('reconciler.repair.before');
  const itemIds = new Set(items.map((row) => row.runId));
  const leaseIds = new Set(leases.map((row) => row.runId));
  const byId = new Map(locked.map((run) => [run.runId, run]));
  return standings.flatMap(({ runId, status, item, isLeased, restedMs }) => {
    const run = byId.get(runId);
    if (run === undefined) return [];
    const holdsItem = itemIds.has(runId);
    const holdsLease = leaseIds.has(runId);
    return [{ run, standing: { status, item, isLeased }, restedMs, holdsItem, holdsLease }];
  });
}

/** Items of `runIds` that are locked now and have no run. An item and its run become visible together. */
export async function proveItemsWithoutRun(
  c: Connection,
  runIds: readonly RunId[],
): Promise<readonly HotRow[]> {
  if (runIds.length === 0) return [];
  const items = await c.run<HotRow>(lockItems, [runIds]);
  const missing = await c.run<{ runId: RunId }>(unknownRuns, [items.map((row) => row.runId)]);
  const unknown = new Set(missing.map((row) => row.runId));
  return items.filter((row) => unknown.has(row.runId));
}
