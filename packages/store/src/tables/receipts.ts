/** receipt and payload: what was decided about every signal, and what it carried. Never updated. */

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { deflate, deflateSync, inflate } from 'node:zlib';
import type { Outcome, ReasonCode, ReceiptId, RunId, SignalAnswer, TaskId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { rowInsert } from '../connection/rows.js';
import { statement } from '../connection/statement.js';

export interface DecisionReceipt {
  readonly id: ReceiptId;
  readonly tenantId: number;
  readonly outcome: Outcome;
  readonly reasonCode: ReasonCode;
  readonly message: string;
  readonly rule: string;
  readonly trigger: string;
  readonly via: string;
  readonly route: string | null;
  readonly existing: boolean;
  readonly retryAfter: Date | null;
  readonly watermark: string | null;
  readonly parentReceiptId: ReceiptId | null;
  readonly traceparent: string | null;
  readonly source: string;
  readonly eventId: string;
  readonly type: string;
  readonly hookId: string | null;
  readonly emittedAt: Date | null;
  readonly receivedAt: Date;
  readonly actor: string | null;
  readonly repository: string | null;
  readonly workKey: string | null;
  readonly targetId: string | null;
  readonly inputVersion: string | null;
  readonly generation: number | null;
  readonly policyVersion: number;
  readonly taskId: TaskId | null;
  readonly runId: RunId | null;
  readonly concurrencyKey: string | null;
  /** The blob of `.headgate.yaml` that narrowed the decision. */
  readonly repositoryConfigSha: string | null;
  /** Who wanted a signal that had come before to be decided once more. */
  readonly replayedBy: string | null;
}

const decisions = rowInsert<DecisionReceipt>('receipt.insert_decisions', 'receipt', [
  { name: 'id', type: 'uuid', value: (r) => r.id },
  { name: 'tenant_id', type: 'int', value: (r) => r.tenantId },
  { name: 'kind', type: 'text', value: () => 'decision' },
  { name: 'outcome', type: 'text', value: (r) => r.outcome },
  { name: 'reason_code', type: 'text', value: (r) => r.reasonCode },
  { name: 'message', type: 'text', value: (r) => r.message },
  { name: 'rule', type: 'text', value: (r) => r.rule },
  { name: 'trigger', type: 'text', value: (r) => r.trigger },
  { name: 'via', type: 'text', value: (r) => r.via },
  { name: 'route', type: 'text', value: (r) => r.route },
  { name: 'existing', type: 'boolean', value: (r) => r.existing },
  { name: 'retry_after', type: 'timestamptz', value: (r) => r.retryAfter },
  { name: 'watermark', type: 'text', value: (r) => r.watermark },
  { name: 'parent_receipt_id', type: 'uuid', value: (r) => r.parentReceiptId },
  { name: 'traceparent', type: 'text', value: (r) => r.traceparent },
  { name: 'source', type: 'text', value: (r) => r.source },
  { name: 'event_id', type: 'text', value: (r) => r.eventId },
  { name: 'type', type: 'text', value: (r) => r.type },
  { name: 'hook_id', type: 'text', value: (r) => r.hookId },
  { name: 'emitted_at', type: 'timestamptz', value: (r) => r.emittedAt },
  { name: 'received_at', type: 'timestamptz', value: (r) => r.receivedAt },
  { name: 'actor', type: 'text', value: (r) => r.actor },
  { name: 'repository', type: 'text', value: (r) => r.repository },
  { name: 'work_key', type: 'text', value: (r) => r.workKey },
  { name: 'target_id', type: 'text', value: (r) => r.targetId },
  { name: 'input_version', type: 'text', value: (r) => r.inputVersion },
  { name: 'generation', type: 'int', value: (r) => r.generation },
  { name: 'policy_version', type: 'int', value: (r) => r.policyVersion },
  { name: 'task_id', type: 'uuid', value: (r) => r.taskId },
  { name: 'run_id', type: 'uuid', value: (r) => r.runId },
  { name: 'concurrency_key', type: 'text', value: (r) => r.concurrencyKey },
  { name: 'repository_config_sha', type: 'text', value: (r) => r.repositoryConfigSha },
  { name: 'replayed_by', type: 'text', value: (r) => r.replayedBy },
]);

// The end of a run: execution and mutation identity, joined from the rows of this transaction (I5).
const closing = statement(
  'receipt.insert_closing',
  `insert into headgate.receipt
     (id, tenant_id, kind, outcome, reason_code, message, rule, trigger, via, route, parent_receipt_id, traceparent,
      source, event_id, type, hook_id, emitted_at, received_at, actor, repository, work_key, target_id, input_version,
      generation, policy_version, task_id, run_id, attempt_no, lease_id, fencing_token, concurrency_key,
      repository_config_sha, mutations)
   select headgate.uuid7(), r.tenant_id, 'closing',
          case when r.status in ('NO_WORK', 'EXPIRED', 'SUPERSEDED') then 'no-work'
               when r.status = 'POLICY_DENIED' then 'reject' else 'accept' end,
          coalesce(r.reason_code, r.status::text), coalesce(r.reason_detail, ''), 'run.end', d.trigger, d.via, r.route,
          r.receipt_id, r.traceparent, d.source, d.event_id, d.type, d.hook_id, d.emitted_at, d.received_at, d.actor,
          d.repository, t.work_key, d.target_id, r.input_version, r.generation, r.policy_version, r.task_id, r.id,
          a.number, a.lease_id, a.fencing_token, r.concurrency_key, d.repository_config_sha,
          (select jsonb_agg(jsonb_build_object('operationKey', o.key, 'externalId', o.external_id, 'status', o.state)
                            order by o.intended_at)
             from headgate.operation o where o.run_id = r.id)
     from headgate.run r
     join headgate.task t on t.id = r.task_id
     join headgate.receipt d on d.id = r.receipt_id
     left join headgate.attempt a on a.run_id = r.id and a.number = r.attempt_no
    where r.id = any ($1::uuid[])`,
);

export interface PayloadRow {
  readonly receiptId: ReceiptId;
  readonly tenantId: number;
  readonly encoding: 'deflate' | 'identity';
  readonly mediaType: string;
  /** Without which the body cannot be read again; null: it can. */
  readonly headers: Readonly<Record<string, string>> | null;
  readonly data: Buffer;
}

/** As it came. */
export interface Payload {
  readonly mediaType: string;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly body: Buffer;
}

const payloadRows = rowInsert<PayloadRow>('payload.insert', 'payload', [
  { name: 'receipt_id', type: 'uuid', value: (p) => p.receiptId },
  { name: 'tenant_id', type: 'int', value: (p) => p.tenantId },
  { name: 'encoding', type: 'text', value: (p) => p.encoding },
  { name: 'media_type', type: 'text', value: (p) => p.mediaType },
  { name: 'headers', type: 'jsonb', value: (p) => (p.headers === null ? null : JSON.stringify(p.headers)) },
  { name: 'data', type: 'bytea', value: (p) => p.data },
]);
// Of the repeats of deliveries those whose first came with the very same. Index: the key.
const samePayload = statement(
  'payload.same',
  `select g.receipt_id as "receiptId"
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::jsonb[], $6::bytea[])
          as g(receipt_id, first_id, encoding, media_type, headers, digest)
     join headgate.payload p on p.receipt_id = g.first_id
    where p.encoding = g.encoding and p.media_type = g.media_type and p.headers is not distinct from g.headers
      and sha256(p.data) = g.digest`,
);
const readPayload = statement(
  'payload.read',
  'select encoding, media_type as "mediaType", headers, data from headgate.payload where receipt_id = $1',
);
const existing = statement('receipt.existing', 'select id from headgate.receipt where id = any ($1::uuid[])');
const answer = statement(
  'receipt.answer',
  `select id as "receiptId", outcome, reason_code as "reasonCode", message, run_id as "runId", task_id as "taskId",
          existing, retry_after as "retryAfter"
     from headgate.receipt where id = $1 and kind = 'decision'`,
);

/** A small window and table: 64 KB for each body under way instead of 256, and hundreds may be. */
const DEFLATE = { level: 1, windowBits: 13, memLevel: 6 };
/** Not worth compressing. */
const SMALL_BYTES = 256;
/** Compressed where it is: to have another thread do it costs the main one as much, and twice the processor time. */
const COMPRESSED_HERE_BYTES = 64 * 1024;

const deflateAsync = promisify(deflate);
const inflateAsync = promisify(inflate);

export const receipts = {
  insertDecisions: decisions.insert,
  /** Closing receipts of runs that this transaction ended. */
  insertClosing: (c: Connection, runIds: readonly RunId[]): Promise<number> =>
    runIds.length === 0 ? Promise.resolve(0) : c.count(closing, [runIds]),
  /** What the sender of a decided signal was, or would have been, told. */
  answer: async (c: Connection, id: ReceiptId): Promise<SignalAnswer | null> =>
    (await c.run<SignalAnswer>(answer, [id]))[0] ?? null,
  /** Which of the ids are durable: for reading back a COMMIT without an answer. */
  existing: async (c: Connection, ids: readonly ReceiptId[]): Promise<ReadonlySet<ReceiptId>> =>
    new Set((await c.run<{ id: ReceiptId }>(existing, [ids])).map((row) => row.id)),
};

export const payloads = {
  insert: payloadRows.insert,
  /** Outside the transaction. Small bodies stay as they are, large ones do not hold up the main thread. */
  encode: async (body: Buffer): Promise<Pick<PayloadRow, 'encoding' | 'data'>> => {
    if (body.length < SMALL_BYTES) return { encoding: 'identity', data: body };
    const isShort = body.length <= COMPRESSED_HERE_BYTES;
    return {
      encoding: 'deflate',
      data: isShort ? deflateSync(body, DEFLATE) : await deflateAsync(body, DEFLATE),
    };
  },
  /** Which of the rows carry, byte for byte, what lies beside the receipt named `first`. */
  same: async (
    c: Connection,
    asked: readonly { readonly row: PayloadRow; readonly first: ReceiptId }[],
  ): Promise<ReadonlySet<ReceiptId>> => {
    if (asked.length === 0) return new Set();
    const rows = await c.run<{ receiptId: ReceiptId }>(samePayload, [
      asked.map(({ row }) => row.receiptId),
      asked.map(({ first }) => first),
      asked.map(({ row }) => row.encoding),
      asked.map(({ row }) => row.mediaType),
      asked.map(({ row: { headers } }) => (headers === null ? null : JSON.stringify(headers))),
      asked.map(({ row }) => createHash('sha256').update(row.data).digest()),
    ]);
    return new Set(rows.map((row) => row.receiptId));
  },
  read: async (c: Connection, receiptId: ReceiptId): Promise<Payload | null> => {
    const [row] = await c.run<PayloadRow>(readPayload, [receiptId]);
    if (row === undefined) return null;
    const { encoding, mediaType, headers, data } = row;
    return { mediaType, headers, body: encoding === 'deflate' ? await inflateAsync(data) : data };
  },
};
