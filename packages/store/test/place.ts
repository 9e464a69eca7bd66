/** Where a run is: the table of data-model.md, held against one snapshot of the database. */
import { PLACE, type Place, RUN_STATUSES, type RunStatus } from '@headgate/domain';
import type { Pool } from '@headgate/store';

interface Standing {
  readonly runId: string;
  readonly status: RunStatus;
  readonly itemState: 'delayed' | 'ready' | 'dispatched' | null;
  readonly isLeased: boolean;
}

/** Runs whose rows are not where their status says, and rows of runs that do not exist. One statement: one snapshot. */
export async function misplaced(pool: Pool): Promise<readonly string[]> {
  const rows = await pool.use((c) =>
    c.query<Standing>(
      `select coalesce(r.id, q.run_id, l.run_id) as "runId", r.status, q.state as "itemState",
              l.run_id is not null as "isLeased"
         from headgate.run r
         full join headgate.queue_item q on q.run_id = r.id
         full join headgate.lease l on l.run_id = coalesce(r.id, q.run_id)`,
    ),
  );
  return rows.flatMap((row) => {
    const problem = problemOf(row);
    return problem === null ? [] : [`${row.runId}: ${problem}`];
  });
}

function problemOf({ status, itemState, isLeased }: Standing): string | null {
  if (!RUN_STATUSES.includes(status)) return `no run stands behind its ${itemState ?? 'lease'}`;
  const place: Place = PLACE[status];
  const legal = {
    nowhere: itemState === null && !isLeased,
    'item-delayed': itemState === 'delayed' && !isLeased,
    item: itemState !== null && !isLeased,
    lease: itemState === null && isLeased,
    never: false,
  }[place];
  return legal ? null : `${status} with item ${itemState ?? 'none'} and ${isLeased ? 'a' : 'no'} lease`;
}
