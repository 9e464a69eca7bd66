/**
 * run_event as a feed: what was committed, in an order in which nothing can appear behind a reader.
 *
 * Ids are drawn before their transaction commits, so a reader that kept only the last id would pass by rows that commit
 * late. A position is therefore (incarnation, xid, id): rows are read only of transactions below the oldest one that
 * still runs, in (xid, id) order. A transaction that stays open holds readers back; it never makes them lose a row. An
 * incarnation is one life of the data: in a restored dump transaction numbers start anew, and a position of before
 * means nothing.
 */
import type { EventId, ReasonCode, RunId, RunStatus, TaskId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface FeedPosition {
  readonly incarnation: string;
  /** A whole number in decimal. */
  readonly xid: string;
  readonly id: EventId;
}

export interface FeedEvent {
  readonly xid: string;
  readonly id: EventId;
  readonly tenantId: number;
  readonly at: Date;
  readonly type: string;
  readonly runId: RunId | null;
  readonly taskId: TaskId | null;
  readonly from: RunStatus | null;
  readonly to: RunStatus | null;
  readonly reasonCode: ReasonCode | null;
  readonly attemptNo: number | null;
}

const columns = `e.xid::text as xid, e.id, e.tenant_id as "tenantId", e.at, e.type, e.run_id as "runId",
  e.task_id as "taskId", e.from_status as "from", e.to_status as "to", e.reason_code as "reasonCode",
  e.attempt_no as "attemptNo"`;

// The nil UUID stands before every event of a transaction that is not over yet.
const end = statement(
  'event_feed.end',
  `select i.id as incarnation, pg_snapshot_xmin(pg_current_snapshot())::text as xid,
          '00000000-0000-0000-0000-000000000000'::uuid as id
     from headgate.incarnation i`,
);
const incarnation = statement('event_feed.incarnation', 'select id from headgate.incarnation');
// Index: run_event_cursor (xid, id), of each partition.
const after = statement(
  'event_feed.after',
  `select ${columns} from headgate.run_event e
    where (e.xid, e.id) > ($1::xid8, $2::uuid) and e.xid < pg_snapshot_xmin(pg_current_snapshot())
    order by e.xid, e.id limit $3`,
);
// As headgate_api too: row level security leaves the caller's own.
const between = statement(
  'event_feed.between',
  `select ${columns} from headgate.run_event e
    where (e.xid, e.id) > ($1::xid8, $2::uuid) and (e.xid, e.id) <= ($3::xid8, $4::uuid)
    order by e.xid, e.id limit $5`,
);

export const eventFeed = {
  /** Behind all that is committed and in front of all that may still commit. */
  end: async (c: Connection): Promise<FeedPosition> => {
    const [row] = await c.run<FeedPosition>(end);
    if (row === undefined) throw new Error('the database has no incarnation: it is not migrated');
    return row;
  },
  incarnation: async (c: Connection): Promise<string> => {
    const [row] = await c.run<{ id: string }>(incarnation);
    return row?.id ?? '';
  },
  /** The next events behind a position, oldest first. */
  after: (c: Connection, position: FeedPosition, limit: number): Promise<FeedEvent[]> =>
    c.run<FeedEvent>(after, [position.xid, position.id, limit]),
  /** Events behind `from`, up to and with `to`, which a reader has passed already. */
  between: (c: Connection, from: FeedPosition, to: FeedPosition, limit: number): Promise<FeedEvent[]> =>
    c.run<FeedEvent>(between, [from.xid, from.id, to.xid, to.id, limit]),
};
