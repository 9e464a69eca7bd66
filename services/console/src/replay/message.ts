/** What is kept of the message that a receipt is about. */
import type { ReceiptId, Signal, TriggerFamily } from '@headgate/domain';
import { type Connection, type Payload, payloads } from '@headgate/store';
import { sql } from 'drizzle-orm';
import { rows } from '../queries/index.js';

/** The receipt that is to be replayed. */
export interface ReplayedReceipt {
  readonly id: ReceiptId;
  readonly kind: 'decision' | 'closing';
  readonly trigger: TriggerFamily;
  readonly tenant: string;
  readonly source: string;
  readonly route: string | null;
  readonly parentReceiptId: ReceiptId | null;
}

/** The message as it came, with the identity it came under. */
export interface KeptMessage extends Pick<Signal, 'eventId' | 'type' | 'hookId' | 'via' | 'receivedAt'> {
  /** `kind:name`. */
  readonly actor: string | null;
  readonly payload: Payload;
}

export async function replayedReceipt(c: Connection, id: ReceiptId): Promise<ReplayedReceipt | null> {
  const [found] = await rows<ReplayedReceipt>(
    c,
    sql`select r.id, r.kind, r.trigger, t.key as tenant, r.source, r.route, r.parent_receipt_id as "parentReceiptId"
          from headgate.receipt r join headgate.tenant t on t.id = r.tenant_id where r.id = ${id}::uuid`,
  );
  return found ?? null;
}

/**
 * The payload lies beside the receipt that stands for the delivery: not beside those of further routes, promotions,
 * repeats and replays, which lead back to it. A repeat that came with another payload has its own. Indexes: the key, receipt_event, the payload's key.
 */
export async function keptMessage(c: Connection, id: ReceiptId): Promise<KeptMessage | null> {
  const [found] = await rows<Omit<KeptMessage, 'payload'> & { readonly id: ReceiptId }>(
    c,
    sql`with recursive line as (
          select r.id, r.parent_receipt_id, r.source, r.event_id, 0 as depth
            from headgate.receipt r where r.id = ${id}::uuid
          union all
          select p.id, p.parent_receipt_id, p.source, p.event_id, l.depth + 1
            from line l join headgate.receipt p on p.id = l.parent_receipt_id where l.depth < ${MAX_LINE})
        select r.id, r.event_id as "eventId", r.type, r.hook_id as "hookId", r.via, r.received_at as "receivedAt", r.actor
          from line l
          join headgate.receipt r on r.event_id = l.event_id and r.source = l.source
          join headgate.payload p on p.receipt_id = r.id
         order by l.depth, r.id = l.id desc, r.id limit 1`,
  );
  if (found === undefined) return null;
  const payload = await payloads.read(c, found.id);
  return payload === null ? null : { ...found, payload };
}

/** A replay of a replay of a promotion of a repeat: nobody goes further. */
const MAX_LINE = 20;
