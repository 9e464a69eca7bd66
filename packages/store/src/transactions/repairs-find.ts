/**
 * Looking for runs whose status and hot rows disagree. Reads only, without a lock: what is found here is a
 * suspicion, to be proved under locks before anything is written (`repairs-prove`).
 *
 * Status is in no index, so the walks go along what is small: the versions that live (`task_version_live`), the
 * queue items, the leases. Each call reads one page, and says where the next one begins.
 */
import {
  type Misplacement,
  misplacementsOf,
  PLACE,
  RUN_STATUSES,
  type RunId,
  type Standing,
} from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface Suspect extends Standing {
  readonly runId: RunId;
  readonly misplacements: readonly Misplacement[];
  /** It has rested ADMITTED for longer than `admittedForMs`, without a wait that has a name. */
  readonly isStranded: boolean;
}

export interface SuspectPage {
  readonly suspects: readonly Suspect[];
  /** Where the next page begins; null: this was the last one. */
  readonly next: string | null;
}

/** What a walk goes along. */
export type WalkAlong = 'versions' | 'items' | 'leases';

interface Row extends Standing {
  readonly runId: RunId | null;
  readonly isStranded: boolean | null;
  readonly next: string | null;
}

const NO_ID = '00000000-0000-0000-0000-000000000000';
const FIRST = `${NO_ID} ${NO_ID}`;

// $1, $2 = the table PLACE. A run that does not exist has no place: whatever stands for it is wrong.
const places = `select * from unnest($1::headgate.run_status[], $2::text[]) as p(status, place)`;
const isMisplaced = `case p.place
    when 'nowhere' then q.run_id is not null or l.run_id is not null
    when 'item-delayed' then q.state is distinct from 'delayed' or l.run_id is not null
    when 'item' then q.run_id is null or l.run_id is not null
    when 'lease' then l.run_id is null or q.run_id is not null
    else true end`;
const standing = `r.status, q.state as item, l.run_id is not null as "isLeased"`;

// One page, its suspects, and as a last row the key of its end. `offset 0` keeps the hot rows from being joined: each is
// looked up by its key, or one page would read the whole of a table that is a thousand times longer.
const walkPage = (
  page: string,
): string => `with place as materialized (${places}), page as materialized (${page})
   select page.run_id as "runId", ${standing}, null as next,
          coalesce(r.status = 'ADMITTED' and r.status_at < clock_timestamp() - $5 * interval '1 millisecond', false)
            as "isStranded"
     from page
     left join headgate.run r on r.id = page.run_id
     left join lateral (select i.run_id, i.state from headgate.queue_item i
                         where i.run_id = page.run_id offset 0) q on true
     left join lateral (select h.run_id from headgate.lease h where h.run_id = page.run_id offset 0) l on true
     left join place p on p.status = r.status
    where (${isMisplaced})
       or (r.status = 'ADMITTED' and r.status_at < clock_timestamp() - $5 * interval '1 millisecond')
   union all
   select null, null, null, false, (select max(page.key collate "C") from page having count(*) >= $4), null`;

const walks: Readonly<Record<WalkAlong, ReturnType<typeof statement>>> = {
  // Index: task_version_live. A version whose run is gone is nobody's to repair here.
  versions: statement(
    'repair.walk_versions',
    walkPage(`select v.run_id, v.task_id::text || ' ' || v.run_id as key from headgate.task_version v
       where v.outcome is null and (v.task_id, v.run_id) > (split_part($3, ' ', 1)::uuid, split_part($3, ' ', 2)::uuid)
       order by v.task_id, v.run_id limit $4`),
  ),
  // Index: queue_item_pkey.
  items: statement(
    'repair.walk_items',
    walkPage(`select i.run_id, i.run_id::text || ' ' || i.run_id as key from headgate.queue_item i
       where i.run_id > split_part($3, ' ', 1)::uuid order by i.run_id limit $4`),
  ),
  // Index: lease_pkey.
  leases: statement(
    'repair.walk_leases',
    walkPage(`select h.run_id, h.run_id::text || ' ' || h.run_id as key from headgate.lease h
       where h.run_id > split_part($3, ' ', 1)::uuid order by h.run_id limit $4`),
  ),
};

export interface WalkOptions {
  /** `next` of the page before; null = from the start. */
  readonly from: string | null;
  readonly limit: number;
  readonly admittedForMs: number;
}

/** One page of a walk: the runs on it that are not where they belong. */
export async function findMisplaced(
  c: Connection,
  along: WalkAlong,
  options: WalkOptions,
): Promise<SuspectPage> {
  const rows = await c.run<Row>(walks[along], [
    RUN_STATUSES,
    RUN_STATUSES.map((status) => PLACE[status]),
    options.from ?? FIRST,
    options.limit,
    options.admittedForMs,
  ]);
  return {
    next: rows.find((row) => row.runId === null)?.next ?? null,
    suspects: rows.flatMap(({ runId, isStranded, status, item, isLeased }) => {
      if (runId === null) return [];
      const misplacements = misplacementsOf({ status, item, isLeased });
      if (misplacements.length === 0 && isStranded !== true) return [];
      return [{ runId, status, item, isLeased, misplacements, isStranded: isStranded === true }];
    }),
  };
}

// Every run and every hot row in one snapshot: a full read of `run`, for tests and `doctor`.
const violations = statement(
  'repair.placement_violations',
  `with place as materialized (${places})
   select coalesce(r.id, q.run_id, l.run_id) as "runId", ${standing}
     from headgate.run r
     full join headgate.queue_item q on q.run_id = r.id
     full join headgate.lease l on l.run_id = coalesce(r.id, q.run_id)
     left join place p on p.status = r.status
    where ${isMisplaced}
    order by 1 limit $3`,
);

export interface PlacementViolation extends Standing {
  readonly runId: RunId;
  readonly misplacements: readonly Misplacement[];
}

/** Every run whose status and hot rows disagree with `PLACE`, at most `limit` of them. */
export async function placementViolations(
  c: Connection,
  limit = 1_000,
): Promise<readonly PlacementViolation[]> {
  const rows = await c.run<Standing & { runId: RunId }>(violations, [
    RUN_STATUSES,
    RUN_STATUSES.map((status) => PLACE[status]),
    limit,
  ]);
  return rows.map((row) => ({ ...row, misplacements: misplacementsOf(row) }));
}
