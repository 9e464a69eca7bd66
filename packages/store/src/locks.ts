/**
 * The two advisory locks of a transaction (SQL rules 4 and 8), always taken before any row: dispatch, then policy.
 * Each in its own statement: a statement that locks and counts would count with the snapshot from before the wait.
 */
import type { Connection } from './connection/connection.js';
import { statement } from './connection/statement.js';

const DISPATCH = "hashtextextended('headgate.dispatch', 0)";
const POLICY = "hashtextextended('headgate.policy', 0)";

const lockDispatch = statement('lock.dispatch', `select pg_advisory_xact_lock(${DISPATCH})`);
const tryDispatch = statement('lock.dispatch_try', `select pg_try_advisory_xact_lock(${DISPATCH}) as held`);
const sharePolicy = statement('lock.policy_shared', `select pg_advisory_xact_lock_shared(${POLICY})`);
const takePolicy = statement('lock.policy', `select pg_advisory_xact_lock(${POLICY})`);

export const locks = {
  dispatch: async (c: Connection): Promise<void> => void (await c.run(lockDispatch)),
  tryDispatch: async (c: Connection): Promise<boolean> =>
    (await c.run<{ held: boolean }>(tryDispatch))[0]?.held ?? false,
  policyShared: async (c: Connection): Promise<void> => void (await c.run(sharePolicy)),
  policyExclusive: async (c: Connection): Promise<void> => void (await c.run(takePolicy)),
};
