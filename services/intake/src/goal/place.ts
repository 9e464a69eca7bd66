/** Where a goal's work stands: its repository in the policy, and the branch that its agent has published, if any. */
import {
  formatId,
  hashWorkKey,
  type RepositoryRef,
  type RoutePolicy,
  type TargetRef,
} from '@headgate/domain';
import {
  type ActivePolicy,
  type Connection,
  type GoalRow,
  type GoalTask,
  goals,
  publications,
} from '@headgate/store';
import type { Heads } from '../repositories/heads.js';
import {
  type ReachedRepository,
  reachedBy,
  repositoryRef,
  wholeRepository,
} from '../repositories/reached.js';

export interface GoalPlace {
  readonly route: RoutePolicy;
  readonly reached: ReachedRepository;
  readonly repository: RepositoryRef;
}

/** Null: its route or repository is gone, and it will be retired. */
export function placeOf(row: GoalRow, { policy, tenantIds }: ActivePolicy): GoalPlace | null {
  const route = policy.routes.find(
    (one) => one.id === row.route && tenantIds.get(one.tenant) === row.tenantId,
  );
  if (route === undefined) return null;
  for (const reached of reachedBy(route, policy)) {
    const repository = repositoryRef(reached);
    if (repository.externalId === row.target) return { route, reached, repository };
  }
  return null;
}

/** All work of a goal is one task; its observations are another, so that they never stand in its way. */
export const workKeyOf = ({ target, id }: GoalRow): string => `${target}/goal/${formatId('goal', id)}`;

export const taskOf = (c: Connection, row: GoalRow): Promise<GoalTask | null> =>
  goals.task(c, row.tenantId, hashWorkKey(workKeyOf(row)));

/**
 * The branch that its agent has published, where it still is; else the repository as a whole. After a reset the work
 * begins at the default branch again.
 */
export async function whereItStands(
  c: Connection,
  row: GoalRow,
  { reached, repository }: GoalPlace,
  heads: Heads,
): Promise<TargetRef> {
  const whole = wholeRepository(repository);
  const task = row.isReset ? null : await taskOf(c, row);
  const published = task === null ? null : await publications.branchOf(c, task.id, task.publication);
  if (published === null) return whole;
  const branch = published.ref.replace(/^refs\/heads\//, '');
  const target: TargetRef = { kind: 'branch', id: branch, ref: branch, aspect: null };
  const head = await heads.read(reached, repository, target);
  return head.kind === 'head' || head.kind === 'unavailable' ? target : whole;
}
