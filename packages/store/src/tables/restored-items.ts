/** queue_item, made again by a repair for a run that lost its own. */
import { rowInsert } from '../connection/rows.js';
import { ITEM_COLUMNS, type NewQueueItem } from './queue-items.js';

/** An item made again for a run that lost its own. */
export interface RestoredItem extends NewQueueItem {
  /** When the run first entered the queue: it keeps its rank. */
  readonly enqueuedAt: Date;
  /** The end of its time to live; null once it was claimed, or without one. */
  readonly expiresAt: Date | null;
  /** 0 = ready now. */
  readonly delayMs: number;
}

// An item that was lost, made again from what the run says. It keeps the run's place in the queue, and its dispatches
// are counted from above any earlier one (there is never more than one a second), so that no old hint or verdict
// fits: the last number went with the lost row.
const insert = rowInsert<RestoredItem>(
  'queue_item.restore',
  'queue_item',
  [
    { name: 'run_id', type: 'uuid', value: (i) => i.runId },
    { name: 'tenant_id', type: 'int', value: (i) => i.tenantId },
    {
      name: 'state',
      type: 'text',
      cast: 'headgate.item_state',
      value: (i) => (i.delayMs > 0 ? 'delayed' : 'ready'),
    },
    {
      name: 'waits',
      type: 'text',
      cast: 'headgate.item_wait',
      value: (i) => (i.delayMs > 0 ? 'backoff' : null),
    },
    {
      name: 'visible_at',
      type: 'bigint',
      expression: "clock_timestamp() + u.visible_at * interval '1 millisecond'",
      value: (i) => i.delayMs,
    },
    { name: 'expires_at', type: 'timestamptz', value: (i) => i.expiresAt },
    {
      name: 'rank_at',
      type: 'timestamptz',
      value: (i) => new Date(i.enqueuedAt.getTime() - i.headStartSeconds * 1_000),
    },
    { name: 'enqueued_at', type: 'timestamptz', value: (i) => i.enqueuedAt },
    {
      name: 'dispatch_no',
      type: 'int',
      expression: '(1000 + extract(epoch from clock_timestamp() - u.enqueued_at))::int',
      value: () => 0,
    },
    ...ITEM_COLUMNS,
  ],
  'on conflict (run_id) do nothing',
);

export const restoredItems = {
  /** For runs that are locked and have no item; one that has is passed over. */
  insert: insert.insert,
};
