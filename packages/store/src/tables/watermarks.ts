/** watermark: how far each repository of a source has been looked at, and who looks at it now. */
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface WatermarkKey {
  readonly tenantId: number;
  readonly source: string;
  readonly repository: string;
}

/** Of an answer that was dealt with. */
export interface Validator {
  readonly etag: string;
  readonly next: string | null;
}

export interface WatermarkRow extends WatermarkKey {
  readonly version: number;
  /** Null: it has never been seen whole, so nothing can be new. */
  readonly lookedAt: Date | null;
  readonly validators: Readonly<Record<string, Validator>>;
  readonly failures: number;
  readonly quietSince: Date | null;
  readonly quietLooks: number;
  readonly silentSince: Date | null;
  readonly silentCount: number;
  /** Database time. */
  readonly now: Date;
}

/** What a look that was dealt with leaves. */
export interface SettledLook {
  readonly nextAfterMs: number;
  /** Null: it was not whole. */
  readonly lookedAt: Date | null;
  readonly validators: Readonly<Record<string, Validator>>;
  readonly detail: string | null;
  readonly quietSince: Date | null;
  readonly quietLooks: number;
  readonly silentSince: Date | null;
  readonly silentCount: number;
  readonly silentFact: string | null;
}

export interface FailedLook {
  readonly outcome: string;
  readonly detail: string;
  readonly nextAfterMs: number;
}

const columns = `w.tenant_id as "tenantId", w.source, w.repository, w.version::int as version,
  w.looked_at as "lookedAt", w.validators, w.failures, w.quiet_since as "quietSince", w.quiet_looks as "quietLooks",
  w.silent_since as "silentSince", w.silent_count as "silentCount", clock_timestamp() as now`;
const KEY = 'w.tenant_id = $1 and w.source = $2 and w.repository = $3';

const ensure = statement(
  'watermark.ensure',
  `insert into headgate.watermark (tenant_id, source, repository)
   select * from unnest($1::int[], $2::text[], $3::text[]) on conflict do nothing`,
);
// One row, locked before the clock is read (SQL rule 2). A claim that its owner did not give back runs out.
const claim = statement(
  'watermark.claim',
  `with due as materialized (
     select w.tenant_id, w.source, w.repository from headgate.watermark w
      where ${KEY} and w.next_at <= clock_timestamp()
        and (w.claimed_until is null or w.claimed_until <= clock_timestamp())
        for update skip locked)
   update headgate.watermark w
      set claim = $4, claimed_until = clock_timestamp() + make_interval(secs => $5::float8 / 1000)
     from due where (w.tenant_id, w.source, w.repository) = (due.tenant_id, due.source, due.repository)
   returning ${columns}`,
);
const due = statement(
  'watermark.due',
  `select w.tenant_id as "tenantId", w.source, w.repository from headgate.watermark w
    where w.next_at <= clock_timestamp() and (w.claimed_until is null or w.claimed_until <= clock_timestamp())
      and (w.tenant_id, w.source, w.repository) in (
        select * from unnest($1::int[], $2::text[], $3::text[]))
    order by w.next_at limit $4`,
);
const lock = statement(
  'watermark.lock',
  `select ${columns} from headgate.watermark w where ${KEY} and w.claim = $4 and w.version = $5 for update`,
);
const settle = statement(
  'watermark.settle',
  `update headgate.watermark w
      set version = w.version + 1, claim = null, claimed_until = null, failures = 0, outcome = 'looked',
          next_at = clock_timestamp() + make_interval(secs => $4::float8 / 1000),
          looked_at = coalesce($5, w.looked_at), validators = $6, detail = $7, quiet_since = $8, quiet_looks = $9,
          silent_since = $10, silent_count = $11, silent_fact = $12
    where ${KEY}`,
);
const fail = statement(
  'watermark.fail',
  `update headgate.watermark w
      set claim = null, claimed_until = null, failures = w.failures + 1, outcome = $5, detail = $6,
          next_at = clock_timestamp() + make_interval(secs => $7::float8 / 1000)
    where ${KEY} and w.claim = $4`,
);
const giveBack = statement(
  'watermark.give_back',
  `update headgate.watermark w
      set claim = null, claimed_until = null, failures = case when $5 = 'looked' then 0 else w.failures + 1 end,
          version = w.version + 1, outcome = $5, detail = $6, looked_at = clock_timestamp(),
          next_at = clock_timestamp() + make_interval(secs => $7::float8 / 1000)
    where ${KEY} and w.claim = $4`,
);
const silent = statement(
  'watermark.silent',
  'select count(*)::int as n from headgate.watermark where silent_since is not null',
);
const keyOf = ({ tenantId, source, repository }: WatermarkKey) => [tenantId, source, repository] as const;

export const watermarks = {
  ensure: (c: Connection, keys: readonly WatermarkKey[]): Promise<number> =>
    keys.length === 0
      ? Promise.resolve(0)
      : c.count(ensure, [
          keys.map((key) => key.tenantId),
          keys.map((key) => key.source),
          keys.map((key) => key.repository),
        ]),
  /** Of the given ones those that may be looked at now, the longest overdue first. */
  due: (c: Connection, keys: readonly WatermarkKey[], limit: number): Promise<readonly WatermarkKey[]> =>
    c.run<WatermarkKey>(due, [
      keys.map((key) => key.tenantId),
      keys.map((key) => key.source),
      keys.map((key) => key.repository),
      limit,
    ]),
  /** Null: not due, or somebody looks at it now. */
  claim: async (
    c: Connection,
    key: WatermarkKey,
    token: string,
    forMs: number,
  ): Promise<WatermarkRow | null> =>
    (await c.run<WatermarkRow>(claim, [...keyOf(key), token, forMs]))[0] ?? null,
  /** Null: the claim ran out and somebody else looked meanwhile. Held until the end of the transaction. */
  lock: async (c: Connection, seen: WatermarkRow, token: string): Promise<WatermarkRow | null> =>
    (await c.run<WatermarkRow>(lock, [...keyOf(seen), token, seen.version]))[0] ?? null,
  /** Under `lock`. */
  settle: (c: Connection, key: WatermarkKey, look: SettledLook): Promise<number> =>
    c.count(settle, [
      ...keyOf(key),
      look.nextAfterMs,
      look.lookedAt,
      JSON.stringify(look.validators),
      look.detail,
      look.quietSince,
      look.quietLooks,
      look.silentSince,
      look.silentCount,
      look.silentFact,
    ]),
  /** Gives the claim back with nothing learned. */
  fail: (c: Connection, key: WatermarkKey, token: string, look: FailedLook): Promise<number> =>
    c.count(fail, [...keyOf(key), token, look.outcome, look.detail, look.nextAfterMs]),
  /** After a look that notes no facts: a hook's log. */
  giveBack: (
    c: Connection,
    key: WatermarkKey,
    token: string,
    look: Omit<FailedLook, 'detail'> & { readonly detail: string | null },
  ): Promise<number> =>
    c.count(giveBack, [...keyOf(key), token, look.outcome, look.detail, look.nextAfterMs]),
  /** Repositories whose hook is silent. */
  silent: async (c: Connection): Promise<number> => (await c.run<{ n: number }>(silent))[0]?.n ?? 0,
};
