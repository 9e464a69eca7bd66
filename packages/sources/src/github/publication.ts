/** What a signal tells of a branch of ours: its pull request was closed or opened again, or the branch was deleted. */
import { parseId, type Signal, type TaskId } from '@headgate/domain';
import { at, textAt } from './fields.js';

export interface PublicationNews {
  readonly kind: 'ended' | 'reopened';
  /** As the branch names it; that it is ours is for the database to say. */
  readonly taskId: TaskId;
}

/** Branches of ours are `agent/{task}/{first publishing run}`. */
const OURS = /^agent\/(task_[0-9a-z]{26})\/run_[0-9a-z]{26}$/;

export function publicationNewsOf({ type, data }: Signal): PublicationNews | null {
  const named = branchIn(type, data);
  if (named === null) return null;
  const [, id] = OURS.exec(named.branch) ?? [];
  const taskId = id === undefined ? null : parseId('task', id);
  return taskId === null ? null : { kind: named.kind, taskId };
}

function branchIn(
  type: string,
  data: unknown,
): { readonly kind: PublicationNews['kind']; readonly branch: string } | null {
  // A fork may call its branch as it likes.
  const isHere = at(data, 'pull_request', 'head', 'repo', 'id') === at(data, 'repository', 'id');
  const head = isHere ? textAt(data, 'pull_request', 'head', 'ref') : null;
  if (type === 'github.pull_request.closed' && head !== null) return { kind: 'ended', branch: head };
  if (type === 'github.pull_request.reopened' && head !== null) return { kind: 'reopened', branch: head };
  const deleted = textAt(data, 'ref');
  const isBranch = textAt(data, 'ref_type') === 'branch';
  if (type === 'github.delete' && isBranch && deleted !== null) return { kind: 'ended', branch: deleted };
  return null;
}
