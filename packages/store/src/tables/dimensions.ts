/**
 * dimension and repository: (tenant, kind, key) -> small id, for the hot tables.
 *
 * Ids are made beforehand, in a transaction of their own (SQL rule 8): inside an admission they would be a lock in
 * no order. A process remembers what it has seen; ids never change and are never deleted.
 */
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { statement } from '../connection/statement.js';

export type DimensionKind =
  | 'organisation'
  | 'user'
  | 'task_type'
  | 'queue'
  | 'agent'
  | 'provider'
  | 'sandbox';

export interface DimensionKey {
  /** 0 for what belongs to no tenant (queues). */
  readonly tenantId: number;
  readonly kind: DimensionKind;
  readonly key: string;
}

export interface RepositoryKey {
  readonly tenantId: number;
  readonly source: string;
  readonly externalId: string;
  readonly fullName: string;
  readonly url: string | null;
  readonly defaultBranch: string | null;
}

const insertDimensions = statement(
  'dimension.ensure',
  `insert into headgate.dimension (tenant_id, kind, key)
   select distinct * from unnest($1::int[], $2::text[], $3::text[]) as given(tenant_id, kind, key) order by 1, 2, 3
   on conflict do nothing`,
);
const readDimensions = statement(
  'dimension.read',
  `select d.id, d.tenant_id as "tenantId", d.kind, d.key
     from headgate.dimension d
     join unnest($1::int[], $2::text[], $3::text[]) as given(tenant_id, kind, key)
       on d.tenant_id = given.tenant_id and d.kind = given.kind and d.key = given.key`,
);
const insertRepositories = statement(
  'repository.ensure',
  `insert into headgate.repository as r (tenant_id, source, external_id, full_name, url, default_branch)
   select * from unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
     as given(tenant_id, source, external_id, full_name, url, default_branch) order by 1, 2, 3
   on conflict (tenant_id, source, external_id) do update
      set full_name = excluded.full_name, url = coalesce(excluded.url, r.url),
          default_branch = coalesce(excluded.default_branch, r.default_branch), updated_at = clock_timestamp()
    where (r.full_name, coalesce(r.url, ''), coalesce(r.default_branch, ''))
          is distinct from (excluded.full_name, coalesce(excluded.url, r.url, ''),
                            coalesce(excluded.default_branch, r.default_branch, ''))`,
);
const readRepositories = statement(
  'repository.read',
  `select r.id, r.tenant_id as "tenantId", r.source, r.external_id as "externalId"
     from headgate.repository r
     join unnest($1::int[], $2::text[], $3::text[]) as given(tenant_id, source, external_id)
       on r.tenant_id = given.tenant_id and r.source = given.source and r.external_id = given.external_id`,
);

const dimensionName = (key: DimensionKey): string => `${key.tenantId}\u0000${key.kind}\u0000${key.key}`;
const repositoryName = (key: Pick<RepositoryKey, 'tenantId' | 'source' | 'externalId'>): string =>
  `${key.tenantId}\u0000${key.source}\u0000${key.externalId}`;

/** A COMMIT without an answer costs nothing here: whatever it left, making the ids again finds the same ones. */
const madeOnce = { readBack: async () => null };

/** The small ids this process knows. */
export class Dimensions {
  readonly #pool: Pool;
  readonly #ids = new Map<string, number>();
  readonly #repositories = new Map<string, { id: number; shown: string }>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Makes and remembers the ids of all given keys. */
  async ensure(keys: readonly DimensionKey[], repositories: readonly RepositoryKey[] = []): Promise<void> {
    const unknown = keys.filter((key) => !this.#ids.has(dimensionName(key)));
    const shown = (r: RepositoryKey): string =>
      `${r.fullName}\u0000${r.url ?? ''}\u0000${r.defaultBranch ?? ''}`;
    const stale = new Map(
      repositories
        .filter((r) => this.#repositories.get(repositoryName(r))?.shown !== shown(r))
        .map((r) => [repositoryName(r), r]),
    );
    if (unknown.length === 0 && stale.size === 0) return;
    await this.#pool.transaction(async (c) => {
      if (unknown.length > 0) await this.#makeDimensions(c, unknown);
      if (stale.size > 0) {
        const rows = [...stale.values()];
        const keyArrays = [
          rows.map((r) => r.tenantId),
          rows.map((r) => r.source),
          rows.map((r) => r.externalId),
        ];
        await c.run(insertRepositories, [
          ...keyArrays,
          rows.map((r) => r.fullName),
          rows.map((r) => r.url),
          rows.map((r) => r.defaultBranch),
        ]);
        const found = await c.run<{ id: number; tenantId: number; source: string; externalId: string }>(
          readRepositories,
          keyArrays,
        );
        for (const row of found) {
          const name = repositoryName(row);
          const given = stale.get(name);
          if (given !== undefined) this.#repositories.set(name, { id: row.id, shown: shown(given) });
        }
      }
    }, madeOnce);
  }

  async #makeDimensions(c: Connection, keys: readonly DimensionKey[]): Promise<void> {
    const arrays = [keys.map((k) => k.tenantId), keys.map((k) => k.kind), keys.map((k) => k.key)];
    await c.run(insertDimensions, arrays);
    for (const row of await c.run<DimensionKey & { id: number }>(readDimensions, arrays)) {
      this.#ids.set(dimensionName(row), row.id);
    }
  }

  /** The id of a key that `ensure` has seen. */
  id(key: DimensionKey): number {
    const id = this.#ids.get(dimensionName(key));
    if (id === undefined) throw new Error(`dimension ${key.kind} ${key.key} was not ensured`);
    return id;
  }

  repositoryId(key: Pick<RepositoryKey, 'tenantId' | 'source' | 'externalId'>): number {
    const known = this.#repositories.get(repositoryName(key));
    if (known === undefined) throw new Error(`repository ${key.externalId} was not ensured`);
    return known.id;
  }
}
