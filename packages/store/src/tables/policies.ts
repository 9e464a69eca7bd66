/** policy_version and policy_head: what every decision was made under. */
import { type Policy, readStoredPolicy, storedPolicy } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { locks } from '../locks.js';
import { dispatchedItems } from './dispatched-items.js';
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
const noteActivation = statement(
  'policy_activation.note',
  `insert into headgate.policy_activation (policy_version, previous_version, actor, reason) values ($1, $2, $3, $4)`,
);
const history = statement(
  'policy_activation.history',
  `select a.policy_version as version, a.previous_version as "previousVersion", a.actor, a.reason,
          a.activated_at as "activatedAt", v.digest, a.id = (select max(id) from headgate.policy_activation) as "isActive"
     from headgate.policy_activation a join headgate.policy_version v on v.id = a.policy_version
    order by a.id desc limit $1`,
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

export interface PolicyActivation {
  readonly version: number;
  readonly previousVersion: number | null;
  readonly actor: string;
  readonly reason: string | null;
  readonly activatedAt: Date;
  readonly digest: string;
  readonly isActive: boolean;
}

export interface Activated extends PolicyVersion {
  /** False: it was the active one already. */
  readonly isChanged: boolean;
  /** Null: there was none. */
  readonly previousVersion: number | null;
  /** Items that were taken back, to be chosen again under the new limits. */
  readonly undispatched: number;
}

export interface ActivateOptions {
  readonly reason?: string | null;
  /** Activate only if this version is the active one; else nothing is done and null is the answer. */
  readonly onlyOver?: number;
}

export const policies = {
  /**
   * Makes the policy the active one. Takes the dispatch lock, then the policy lock exclusively: a claim that read
   * the old head has committed by then, and none reads it afterwards. What was dispatched under the old head is
   * taken back and chosen again under the new limits, so no claim commits above a lowered cap (INV-QU1).
   */
  activate: async (
    pool: Pool,
    policy: Policy,
    actor: string,
    reason: string | null = null,
  ): Promise<Activated> => {
    const activated = await policies.activateOver(pool, policy, actor, { reason });
    if (activated === null) throw new Error('an activation without a condition was refused');
    return activated;
  },
  /** As `activate`; null when another version than `onlyOver` is active: somebody was faster. */
  activateOver: (
    pool: Pool,
    policy: Policy,
    actor: string,
    { reason = null, onlyOver }: ActivateOptions,
  ): Promise<Activated | null> =>
    pool.transaction(async (c) => {
      await locks.dispatch(c);
      await locks.policyExclusive(c);
      const previousVersion = await policies.headVersion(c);
      if (onlyOver !== undefined && previousVersion !== onlyOver) return null;
      await tenants.ensure(
        c,
        policy.tenants.map((tenant) => ({ key: tenant.id, timezone: tenant.timezone })),
      );
      const [row] = await c.run<{ id: number }>(insert, [
        policy.digest,
        JSON.stringify(storedPolicy(policy)),
        actor,
      ]);
      if (row === undefined) throw new Error('policy_version.insert returned nothing');
      const isChanged = (await c.run(setHead, [row.id, actor])).length > 0;
      let undispatched = 0;
      if (isChanged) {
        undispatched = await dispatchedItems.takeBackAll(c, actor, row.id);
        await c.run(noteActivation, [row.id, previousVersion, actor, reason]);
      }
      return { version: row.id, policy, isChanged, previousVersion, undispatched };
    }),
  /** The active policy, or null before the first activation. */
  head: async (c: Connection): Promise<PolicyVersion | null> =>
    readRow((await c.run<PolicyVersion>(head))[0]),
  /** As `head`, with the tenants' ids. */
  active: async (c: Connection): Promise<ActivePolicy | null> => {
    const row = await policies.head(c);
    if (row === null) return null;
    return { ...row, tenantIds: new Map((await tenants.all(c)).map((tenant) => [tenant.key, tenant.id])) };
  },
  headVersion: async (c: Connection): Promise<number | null> =>
    (await c.run<{ version: number }>(headVersion))[0]?.version ?? null,
  byVersion: async (c: Connection, version: number): Promise<PolicyVersion | null> =>
    readRow((await c.run<PolicyVersion>(byVersion, [version]))[0]),
  /** Activations, the newest first. */
  history: (c: Connection, limit: number): Promise<PolicyActivation[]> =>
    c.run<PolicyActivation>(history, [limit]),
};

/** Stored by this version of Headgate or by an older one. */
const readRow = (row: PolicyVersion | undefined): PolicyVersion | null =>
  row === undefined ? null : { version: row.version, policy: readStoredPolicy(row.policy) };
