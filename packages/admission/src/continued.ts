/**
 * Signals about a branch that we publish on belong to the work that it was made for: the check that fails there, the
 * review of its pull request. So the same pull request goes on, and the work's own bounds count.
 *
 * A name alone proves nothing, anybody may call a branch so: the ledger has to know of a push to it. Read before the
 * transaction: what the ledger says of a branch never changes.
 */
import { parseId, type Signal, type TaskId } from '@headgate/domain';
import { type ActivePolicy, type Pool, publications } from '@headgate/store';
import type { Submission } from './submission.js';

const AGENT_BRANCH = /^agent\/(task_[0-9a-z]{26})\/run_[0-9a-z]{26}$/;

/** By `tenant\0branch`: the work key. */
export type Continued = ReadonlyMap<string, string>;

export const continuedKey = (tenant: string, branch: string): string => `${tenant}\u0000${branch}`;

/** The branch that an event is about, if it is named as ours are. */
export function agentBranchOf({ trigger, target }: Signal): string | null {
  if (trigger !== 'event' || target === null) return null;
  const branch = target.ref ?? (target.kind === 'branch' ? target.id : null);
  return branch !== null && AGENT_BRANCH.test(branch) ? branch : null;
}

export async function readContinued(
  pool: Pool,
  submissions: readonly Submission[],
  active: ActivePolicy,
): Promise<Continued> {
  const asked = submissions.flatMap(({ signal }) => {
    const branch = agentBranchOf(signal);
    const taskId = branch === null ? null : taskIdOf(branch);
    return branch === null || taskId === null ? [] : [{ ref: `refs/heads/${branch}`, taskId }];
  });
  if (asked.length === 0) return new Map();
  const owners = await pool.use((c) => publications.ownersOf(c, asked));
  const tenants = new Map([...active.tenantIds].map(([key, id]) => [id, key]));
  return new Map(
    owners.map(({ ref, tenantId, workKey }) => [
      continuedKey(tenants.get(tenantId) ?? '', ref.replace(/^refs\/heads\//, '')),
      workKey,
    ]),
  );
}

const taskIdOf = (branch: string): TaskId | null => parseId('task', AGENT_BRANCH.exec(branch)?.[1] ?? '');
