/** What refused people are told where they asked. */
import type { ReceiptId } from '@headgate/domain';
import type { Feedback } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { type SQL, sql } from 'drizzle-orm';
import { instantOrNull } from './instants.js';
import { list, rows } from './read.js';

type Row = Omit<Feedback, 'settledAt'> & { readonly receiptId: ReceiptId; readonly settledAt: Date | null };

/** By receipt. Index: feedback_pkey. */
export async function feedbackOfReceipts(
  c: Connection,
  ids: readonly ReceiptId[],
): Promise<ReadonlyMap<ReceiptId, Feedback>> {
  const found = await read(c, sql`select unnest(${list(ids, 'uuid')})`);
  return new Map(found.map(({ receiptId, ...told }) => [receiptId, shown(told)]));
}

/** @param receipt a query for the receipt's id */
export async function feedbackOf(c: Connection, receipt: SQL): Promise<Feedback | null> {
  const [found] = await read(c, receipt);
  if (found === undefined) return null;
  const { receiptId: _receiptId, ...told } = found;
  return shown(told);
}

const read = (c: Connection, receipts: SQL): Promise<Row[]> =>
  rows<Row>(
    c,
    sql`select receipt_id as "receiptId", repository, number, state as status, reason_code as "reasonCode", message, url,
               detail, settled_at as "settledAt"
          from headgate.feedback where receipt_id in (${receipts})`,
  );

const shown = (told: Omit<Row, 'receiptId'>): Feedback => ({
  ...told,
  settledAt: instantOrNull(told.settledAt),
});
