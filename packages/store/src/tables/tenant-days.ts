/** tenant_day: what a tenant has spent on each of its own days (Q19). */
import type { AttemptId, RunId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

// The days that costs may fall on, made and locked before anything else (SQL rule 8), in (tenant, day) order.
const daysOf = `select distinct r.tenant_id, (clock_timestamp() at time zone t.timezone)::date as day
     from headgate.run r join headgate.tenant t on t.id = r.tenant_id where r.id = any ($1::uuid[])`;
const makeDays = statement(
  'tenant_day.make',
  `insert into headgate.tenant_day (tenant_id, day) ${daysOf} order by 1, 2 on conflict do nothing`,
);
const lockDays = statement(
  'tenant_day.lock',
  `select 1 from headgate.tenant_day d join (${daysOf}) day using (tenant_id, day)
    order by d.tenant_id, d.day for update of d`,
);
// Folded once per batch, on the tenant's own day.
const settle = statement(
  'tenant_day.settle',
  `insert into headgate.tenant_day as d (tenant_id, day, settled_usd)
   select a.tenant_id, (clock_timestamp() at time zone t.timezone)::date, sum(a.cost_usd)
     from headgate.attempt a join headgate.tenant t on t.id = a.tenant_id
    where a.id = any ($1::uuid[]) and a.cost_usd > 0
    group by 1, 2 order by 1, 2
   on conflict (tenant_id, day) do update set settled_usd = d.settled_usd + excluded.settled_usd`,
);

export const tenantDays = {
  /** Makes and locks the days that costs of these runs may fall on: before any other row. */
  lock: async (c: Connection, runIds: readonly RunId[]): Promise<void> => {
    if (runIds.length > 0) await Promise.all([c.run(makeDays, [runIds]), c.run(lockDays, [runIds])]);
  },
  /** Adds what these attempts have cost. */
  settle: (c: Connection, attemptIds: readonly AttemptId[]): Promise<number> =>
    attemptIds.length === 0 ? Promise.resolve(0) : c.count(settle, [attemptIds]),
};
