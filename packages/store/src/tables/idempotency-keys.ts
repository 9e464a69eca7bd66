/** idempotency_key: the answer given to a request, for as long as it may be repeated (INV-IN3). */
import type { Connection } from '../connection/connection.js';
import { json } from '../connection/rows.js';
import { statement } from '../connection/statement.js';

export type IdempotencyStart =
  | { readonly kind: 'new' }
  | { readonly kind: 'in-flight' }
  | { readonly kind: 'replay'; readonly httpStatus: number; readonly body: unknown }
  | { readonly kind: 'reused' };

const KEEP_MS = 24 * 3_600_000;
/** A request that died with its process stops blocking its key after this. */
const ABANDONED_MS = 60_000;

const begin = statement(
  'idempotency_key.begin',
  `insert into headgate.idempotency_key as k (tenant_id, key, request_hash, expires_at)
   values ($1, $2, $3, clock_timestamp() + $4 * interval '1 millisecond')
   on conflict (tenant_id, key) do update
      set request_hash = excluded.request_hash, http_status = null, body = null, created_at = clock_timestamp(),
          expires_at = excluded.expires_at
    where k.expires_at <= clock_timestamp()
       or (k.http_status is null and k.created_at < clock_timestamp() - $5 * interval '1 millisecond'
           and k.request_hash = excluded.request_hash)
   returning 1`,
);
const read = statement(
  'idempotency_key.read',
  `select request_hash as "requestHash", http_status as "httpStatus", body
     from headgate.idempotency_key where tenant_id = $1 and key = $2`,
);
const complete = statement(
  'idempotency_key.complete',
  'update headgate.idempotency_key set http_status = $3, body = $4 where tenant_id = $1 and key = $2',
);
const drop = statement(
  'idempotency_key.drop',
  'delete from headgate.idempotency_key where tenant_id = $1 and key = $2 and http_status is null',
);
// Rows in use are passed over: a wait here, in another order, could deadlock with one in the order of keys.
// Index: idempotency_key_expiry.
const forget = statement(
  'idempotency_key.forget_expired',
  `with expired as materialized (
     select ctid from headgate.idempotency_key where expires_at < statement_timestamp()
      order by expires_at limit $1 for update skip locked
   )
   delete from headgate.idempotency_key d where d.ctid = any (array (select ctid from expired))`,
);

export const idempotencyKeys = {
  begin: async (
    c: Connection,
    tenantId: number,
    key: string,
    requestHash: Buffer,
  ): Promise<IdempotencyStart> => {
    if ((await c.run(begin, [tenantId, key, requestHash, KEEP_MS, ABANDONED_MS])).length > 0)
      return { kind: 'new' };
    const [row] = await c.run<{ requestHash: Buffer; httpStatus: number | null; body: unknown }>(read, [
      tenantId,
      key,
    ]);
    if (row === undefined) return { kind: 'in-flight' };
    if (!row.requestHash.equals(requestHash)) return { kind: 'reused' };
    return row.httpStatus === null
      ? { kind: 'in-flight' }
      : { kind: 'replay', httpStatus: row.httpStatus, body: row.body };
  },
  complete: (
    c: Connection,
    tenantId: number,
    key: string,
    httpStatus: number,
    body: unknown,
  ): Promise<number> => c.count(complete, [tenantId, key, httpStatus, json(body) ?? 'null']),
  /** The request failed before it was decided: the key may be used again. */
  drop: (c: Connection, tenantId: number, key: string): Promise<number> => c.count(drop, [tenantId, key]),
  forgetExpired: (c: Connection, limit: number): Promise<number> => c.count(forget, [limit]),
};
