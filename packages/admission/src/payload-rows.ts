/**
 * What a batch's deliveries carried, as rows. The payload lies beside the receipt that stands for its delivery, and a
 * repeat of the delivery with the same payload leads to it: it is not kept again. One that came under the same id with
 * another payload keeps its own, as evidence.
 *
 * Two batches with one delivery: the second has waited at the delivery's key, so the first's payload is committed and
 * seen. If retention took it meanwhile, the repeat's is kept.
 */
import { type Decision, deliveryKey, type ReceiptId } from '@headgate/domain';
import { type Connection, type PayloadRow, payloads } from '@headgate/store';
import { type BatchContext, tenantIdOf } from './batch-context.js';
import type { Written } from './write-waiting.js';

/** @param standing by delivery, where another receipt than its first stands for it. */
export async function payloadRows(
  c: Connection,
  { batch, state, decisions }: Written,
  standing: ReadonlyMap<string, ReceiptId>,
  context: BatchContext,
): Promise<readonly PayloadRow[]> {
  const repeats = new Set(decisions.filter(isRepeat).map(({ candidate }) => candidate.receiptId));
  const firsts = new Map<string, PayloadRow>();
  const kept: PayloadRow[] = [];
  const asked: { readonly row: PayloadRow; readonly first: ReceiptId }[] = [];
  for (const [at, prepared] of batch.entries()) {
    const payload = context.payloads[at] ?? null;
    if (payload === null) continue;
    const { receiptId, signal } = prepared.candidate;
    const key = deliveryKey(signal);
    const tenantId = tenantIdOf(prepared, context.active);
    if (!repeats.has(receiptId)) {
      const row = { ...payload, receiptId: standing.get(key) ?? receiptId, tenantId };
      firsts.set(key, row);
      kept.push(row);
      continue;
    }
    const row = { ...payload, receiptId, tenantId };
    const here = firsts.get(key);
    const before = state.deliveries.get(key);
    if (here !== undefined) {
      if (!isSame(here, row)) kept.push(row);
    } else if (before !== undefined) asked.push({ row, first: before.receiptId });
    else kept.push(row);
  }
  const same = await payloads.same(c, asked);
  return [...kept, ...asked.flatMap(({ row }) => (same.has(row.receiptId) ? [] : [row]))];
}

const isRepeat = ({ reasonCode }: Decision): boolean => reasonCode === 'DUPLICATE_DELIVERY';

const isSame = (one: PayloadRow, other: PayloadRow): boolean =>
  one.encoding === other.encoding &&
  one.mediaType === other.mediaType &&
  JSON.stringify(one.headers) === JSON.stringify(other.headers) &&
  one.data.equals(other.data);
