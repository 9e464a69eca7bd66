/** policy_version and policy_head: what every decision was made under. */
import type { Policy } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { locks } from '../locks.js';
import { queueItems } from './queue-items.js';
import { tenants } from './tenants.js';

export interface PolicyVersion {
  readonly version: number;
  readonly policy: Policy;
}

/** The policy in force, with the small ids of its tenants. */
export interface ActivePolicy extends PolicyVersion {
  readonly tenantIds: ReadonlyMap<string, number>;
}

const insert = statement(
  'policy_version.insert',
  `insert into headgate.policy_version (digest, policy, actor) values ($1, $2, $3)
   on conflict (digest) do update set digest = excluded.digest
   returning id`,
);
const setHead = statement(
  'policy_head.set',
  `insert into headgate.policy_head as h (policy_version, actor) values ($1, $2)
   on conflict (singleton) do update set policy_version = excluded.policy_version, actor = excluded.actor,
          activated_at = clock_timestamp()
    where h.policy_version <> excluded.policy_version
   returning policy_version`,
);
const head = statement(
  'policy_head.read',
  `select v.id as version, v.policy from headgate.policy_head h join headgate.policy_version v on v.id = h.policy_version`,
);
const headVersion = statement(
  'policy_head.version',
  'select policy_version as version from headgate.policy_head',
);
const byVersion = statement(
  'policy_version.read',
  'select id as version, policy from headgate.policy_version where id = $1',
);

export const policies = {
  /**
   * Makes the policy the active one. Takes the dispatch lock, then the policy lock exclusively: a claim that read
   * the old head has committed by then, and none reads it afterwards. What was dispatched under the old head is
   * taken back and chosen again under the new limits, so no claim commits above a lowered cap (INV-QU1).
   */
  activate: (pool: Pool, policy: Policy, actor: string): Promise<PolicyVersion> =>
    pool.transaction(async (c) => {
      await locks.dispatch(c);
      await locks.policyExclusive(c);
      await tenants.ensure(
        c,
        policy.tenants.map((tenant) => ({ key: tenant.id, timezone: tenant.timezone })),
      );
      const [row] = await c.run<{ id: number }>(insert, [policy.digest, JSON.stringify(policy), actor]);
      if (row === undefined) throw new Error('policy_version.insert returned nothing');
      const changed = await c.run(setHead, [row.id, actor]);
      if (changed.length > 0) await queueItems.undispatchAll(c, actor, row.id);
      return { version: row.id, policy };
    }),
  /** The active policy, or null before the first activation. */
  head: async (c: Connection): Promise<PolicyVersion | null> => (await c.run<PolicyVersion>(head))[0] ?? null,
  /** As `head`, with the tenants' ids. */
  active: async (c: Connection): Promise<ActivePolicy | null> => {
    const [row] = await c.run<PolicyVersion>(head);
    if (row === undefined) return null;
    return { ...row, tenantIds: new Map((await tenants.all(c)).map((tenant) => [tenant.key, tenant.id])) };
  },
  headVersion: async (c: Connection): Promise<number | null> =>
    (await c.run<{ version: number }>(headVersion))[0]?.version ?? null,
  byVersion: async (c: Connection, version: number): Promise<PolicyVersion | null> =>
    (await c.run<PolicyVersion>(byVersion, [version]))[0] ?? null,
};
