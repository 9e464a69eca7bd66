/** forge_repository: repositories as their forge numbers them. Names follow the number. */
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface ForgeRepositoryRow {
  readonly tenantId: number;
  readonly source: string;
  readonly forgeId: string;
  readonly fullName: string;
  /** The configuration's name for it; null: it has none of this name. */
  readonly configuredName: string | null;
  readonly installationId: string | null;
  readonly isRemoved: boolean;
  readonly isSuspended: boolean;
}

// In key order. The configured name is the first one it was met under: a rename must not lose it.
const put = statement(
  'forge_repository.put',
  `insert into headgate.forge_repository as f
     (tenant_id, source, forge_id, full_name, configured_name, installation_id, removed_at, suspended_at)
   select g.tenant_id, g.source, g.forge_id, g.full_name, g.configured_name, g.installation_id,
          case when g.removed then clock_timestamp() end, case when g.suspended then clock_timestamp() end
     from unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::boolean[])
          as g(tenant_id, source, forge_id, full_name, configured_name, installation_id, removed, suspended)
    order by 1, 2, 3
   on conflict (tenant_id, source, forge_id) do update
      set full_name = excluded.full_name,
          configured_name = coalesce(excluded.configured_name, f.configured_name),
          installation_id = coalesce(excluded.installation_id, f.installation_id),
          removed_at = case when excluded.removed_at is null then null else coalesce(f.removed_at, excluded.removed_at) end,
          suspended_at = case when excluded.suspended_at is null then null
                              else coalesce(f.suspended_at, excluded.suspended_at) end,
          updated_at = clock_timestamp()`,
);
const configuredNames = statement(
  'forge_repository.configured_names',
  `select f.tenant_id as "tenantId", f.source, f.forge_id as "forgeId", f.configured_name as "configuredName"
     from unnest($1::int[], $2::text[], $3::text[]) as g(tenant_id, source, forge_id)
     join headgate.forge_repository f
       on f.tenant_id = g.tenant_id and f.source = g.source and f.forge_id = g.forge_id
    where f.configured_name is not null`,
);

type Key = Pick<ForgeRepositoryRow, 'tenantId' | 'source' | 'forgeId'>;

export const forgeRepositories = {
  /** The rows must name no repository twice (SQL rule 3). */
  put: (c: Connection, rows: readonly ForgeRepositoryRow[]): Promise<number> =>
    rows.length === 0
      ? Promise.resolve(0)
      : c.count(put, [
          rows.map((row) => row.tenantId),
          rows.map((row) => row.source),
          rows.map((row) => row.forgeId),
          rows.map((row) => row.fullName),
          rows.map((row) => row.configuredName),
          rows.map((row) => row.installationId),
          rows.map((row) => row.isRemoved),
          rows.map((row) => row.isSuspended),
        ]),
  configuredNames: (
    c: Connection,
    keys: readonly Key[],
  ): Promise<(Key & { readonly configuredName: string })[]> =>
    keys.length === 0
      ? Promise.resolve([])
      : c.run(configuredNames, [
          keys.map((key) => key.tenantId),
          keys.map((key) => key.source),
          keys.map((key) => key.forgeId),
        ]),
};
