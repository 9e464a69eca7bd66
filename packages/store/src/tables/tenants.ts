/** tenant: who work belongs to. Rows are made when a policy that names them is activated. */
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

const ensure = statement(
  'tenant.ensure',
  `insert into headgate.tenant as t (key, timezone)
   select * from unnest($1::text[], $2::text[]) as given(key, timezone) order by key
   on conflict (key) do update set timezone = excluded.timezone where t.timezone <> excluded.timezone`,
);
const all = statement('tenant.all', 'select id, key, timezone from headgate.tenant order by id');
const idsForToken = statement('tenant.ids', 'select headgate.tenant_ids() as ids');

export interface TenantRow {
  readonly id: number;
  readonly key: string;
  readonly timezone: string;
}

export const tenants = {
  ensure: (c: Connection, rows: readonly { key: string; timezone: string }[]): Promise<number> =>
    c.count(ensure, [rows.map((row) => row.key), rows.map((row) => row.timezone)]),
  all: (c: Connection): Promise<TenantRow[]> => c.run<TenantRow>(all),
  /** For a token that is bound to no tenant; works before a tenant is set. */
  idsForToken: async (c: Connection): Promise<readonly number[]> =>
    (await c.run<{ ids: number[] }>(idsForToken))[0]?.ids ?? [],
};
