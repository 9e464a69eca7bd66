import { formatId, type RunId, type TaskId } from '@headgate/domain';

/** The branch of a run's own result (Q9): `agent/{task_…}/{run_…}`. */
export const runBranch = (taskId: TaskId, runId: RunId): string =>
  `agent/${formatId('task', taskId)}/${formatId('run', runId)}`;

/** `agent/…` as the full reference that a push names. */
export const branchRef = (branch: string): string => `refs/heads/${branch}`;
