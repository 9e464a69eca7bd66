/** redelivery: failed deliveries that the forge was asked to send again, at most so often each. */
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface RedeliveryKey {
  readonly tenantId: number;
  readonly source: string;
  readonly hook: string;
}

// The row is written before the forge is asked, and says no when the tries are used up or the last one is young: of two
// reconcilers one wins, and a crash in between costs a try.
const begin = statement(
  'redelivery.begin',
  `insert into headgate.redelivery as r (tenant_id, source, hook, guid, tries, asked_at)
   values ($1, $2, $3, $4, 1, clock_timestamp())
   on conflict (tenant_id, source, hook, guid) do update
      set tries = r.tries + 1, asked_at = clock_timestamp(), settled_at = null
    where r.tries < $5 and r.asked_at < clock_timestamp() - make_interval(secs => $6::float8 / 1000)
   returning r.tries`,
);
const settle = statement(
  'redelivery.settle',
  `update headgate.redelivery set settled_at = clock_timestamp(), detail = $5
    where tenant_id = $1 and source = $2 and hook = $3 and guid = $4 and settled_at is null`,
);
// The forge has certainly not taken it: the try counts for nothing, and the pause is kept.
const giveBack = statement(
  'redelivery.give_back',
  `update headgate.redelivery set tries = tries - 1, settled_at = clock_timestamp(), detail = $5
    where tenant_id = $1 and source = $2 and hook = $3 and guid = $4 and settled_at is null and tries > 0`,
);
const forget = statement(
  'redelivery.forget',
  `delete from headgate.redelivery where asked_at < clock_timestamp() - interval '30 days'`,
);

export const redeliveries = {
  /** The number of this try; null: not now, or not any more. */
  begin: async (
    c: Connection,
    { tenantId, source, hook }: RedeliveryKey,
    guid: string,
    bounds: { readonly maxTries: number; readonly pauseMs: number },
  ): Promise<number | null> => {
    const values = [tenantId, source, hook, guid, bounds.maxTries, bounds.pauseMs];
    return (await c.run<{ tries: number }>(begin, values))[0]?.tries ?? null;
  },
  settle: (c: Connection, { tenantId, source, hook }: RedeliveryKey, guid: string, detail: string | null) =>
    c.count(settle, [tenantId, source, hook, guid, detail]),
  /** The forge refused: it was not asked. */
  giveBack: (c: Connection, { tenantId, source, hook }: RedeliveryKey, guid: string, detail: string) =>
    c.count(giveBack, [tenantId, source, hook, guid, detail]),
  /** Long after the forge has forgotten them. */
  forget: (c: Connection): Promise<number> => c.count(forget, []),
};
