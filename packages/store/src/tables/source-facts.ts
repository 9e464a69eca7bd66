/** source_fact: what was seen of a repository, so that a look tells what is new from what was there before. */
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';
import type { WatermarkKey } from './watermarks.js';

export interface KnownFact {
  readonly version: string;
  readonly changedAt: Date;
}

const KEY = 'tenant_id = $1 and source = $2 and repository = $3';

const read = statement(
  'source_fact.read',
  `select fact, version, changed_at as "changedAt" from headgate.source_fact where ${KEY}`,
);
const note = statement(
  'source_fact.note',
  `insert into headgate.source_fact as f (tenant_id, source, repository, fact, version)
   select $1, $2, $3, u.fact, u.version from unnest($4::text[], $5::text[]) as u(fact, version)
   on conflict (tenant_id, source, repository, fact) do update
      set version = excluded.version, changed_at = clock_timestamp(), seen_at = clock_timestamp()
    where f.version <> excluded.version`,
);
// At most once a day: that a fact still stands is no news.
const touch = statement(
  'source_fact.touch',
  `update headgate.source_fact set seen_at = clock_timestamp()
    where ${KEY} and fact = any ($4::text[]) and seen_at < clock_timestamp() - interval '1 day'`,
);
// Measured from the last whole look: a source that was away for long has forgotten nothing when it is back.
const forget = statement(
  'source_fact.forget',
  `delete from headgate.source_fact f using headgate.watermark w
    where (w.tenant_id, w.source, w.repository) = (f.tenant_id, f.source, f.repository)
      and f.seen_at < w.looked_at - make_interval(days => $1)`,
);

export const sourceFacts = {
  read: async (
    c: Connection,
    { tenantId, source, repository }: WatermarkKey,
  ): Promise<ReadonlyMap<string, KnownFact>> => {
    const rows = await c.run<KnownFact & { fact: string }>(read, [tenantId, source, repository]);
    return new Map(rows.map(({ fact, version, changedAt }) => [fact, { version, changedAt }]));
  },
  /** Facts of a repository, each once. */
  note: (
    c: Connection,
    { tenantId, source, repository }: WatermarkKey,
    facts: readonly { readonly fact: string; readonly version: string }[],
  ): Promise<number> =>
    facts.length === 0
      ? Promise.resolve(0)
      : c.count(note, [
          tenantId,
          source,
          repository,
          facts.map((one) => one.fact),
          facts.map((one) => one.version),
        ]),
  touch: (
    c: Connection,
    { tenantId, source, repository }: WatermarkKey,
    facts: readonly string[],
  ): Promise<number> =>
    facts.length === 0 ? Promise.resolve(0) : c.count(touch, [tenantId, source, repository, facts]),
  /** Those that no whole look has shown for so long. */
  forget: (c: Connection, days: number): Promise<number> => c.count(forget, [days]),
};
