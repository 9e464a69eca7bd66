/** Checks, suites, workflows, commit statuses: something was found out about a commit. */
import type { RepositoryRef, TargetRef } from '@headgate/domain';
import { at, commitAt, idAt, instantAt, pullRequestsOf, textAt } from './fields.js';
import { branchTarget, type EventRule, NOTHING, parentsOf, pullRequestTarget } from './reading.js';

/**
 * Where a check belongs: to its one pull request, else to its branch. Several pull requests share one branch, and
 * that is what a fix is pushed to. For a fork's commit both are missing, and only a read of the forge can tell.
 */
function checkTarget(
  pulls: unknown,
  headBranch: string | null,
  repository: RepositoryRef | null,
  aspect: string | null,
): TargetRef | null {
  const [first, ...others] = pullRequestsOf(pulls, repository);
  if (first !== undefined && others.length === 0) return pullRequestTarget(first, aspect);
  return headBranch === null ? null : branchTarget(headBranch, aspect);
}

/**
 * A suite is made when its commit is pushed and stays through every re-run, so its age orders the heads; the
 * times of a check run do not (re-running an old one makes them new). `before` was the head before that push.
 */
const suiteOrder = (suite: unknown, head: string | null) => ({
  sourceAt: instantAt(suite, 'created_at'),
  parentVersions: commitAt(suite, 'after') === head ? parentsOf(commitAt(suite, 'before'), head) : [],
});

export const checkRun: EventRule = {
  aspectWord: 'check',
  words: {
    key: 'pr/{n}/check/{name} or branch/{ref}/check/{name}',
    version: 'head SHA',
    order: 'the check suite: `before`, then `created_at`',
  },
  read: ({ payload, action, repository }) => {
    const run = payload['check_run'];
    const name = textAt(run, 'name');
    if (name === null) return NOTHING;
    const head = commitAt(run, 'head_sha');
    const branch = textAt(run, 'check_suite', 'head_branch');
    return {
      target: checkTarget(at(run, 'pull_requests'), branch, repository, name),
      inputVersion: head,
      ...suiteOrder(at(run, 'check_suite'), head),
      emittedAt: emittedOf(run, action, { created: 'started_at', completed: 'completed_at' }),
    };
  },
};

export const checkSuite: EventRule = {
  aspectWord: 'suite',
  words: {
    key: 'pr/{n}/suite/{app id} or branch/{ref}/suite/{app id}',
    version: 'head SHA',
    order: 'the check suite: `before`, then `created_at`',
  },
  read: ({ payload, action, repository }) => {
    const suite = payload['check_suite'];
    const app = idAt(suite, 'app', 'id');
    if (app === null) return NOTHING;
    const head = commitAt(suite, 'head_sha');
    return {
      target: checkTarget(at(suite, 'pull_requests'), textAt(suite, 'head_branch'), repository, app),
      inputVersion: head,
      ...suiteOrder(suite, head),
      emittedAt: emittedOf(suite, action, { requested: 'created_at', completed: 'updated_at' }),
    };
  },
};

export const workflowRun: EventRule = {
  aspectWord: 'workflow',
  words: {
    key: 'pr/{n}/workflow/{workflow id} or branch/{ref}/workflow/{workflow id}',
    version: 'head SHA (none for `pull_request_target`, whose SHA is the base)',
    order: "the workflow run's `created_at`, which a re-run keeps",
  },
  read: ({ payload, action, repository }) => {
    const run = payload['workflow_run'];
    const workflow = idAt(run, 'workflow_id');
    if (workflow === null) return NOTHING;
    const headRepository = idAt(run, 'head_repository', 'id');
    const isFork = headRepository !== null && headRepository !== repository?.externalId;
    const branch = isFork ? null : textAt(run, 'head_branch');
    const showsBase = textAt(run, 'event') === 'pull_request_target';
    return {
      target: checkTarget(at(run, 'pull_requests'), branch, repository, workflow),
      inputVersion: showsBase ? null : commitAt(run, 'head_sha'),
      sourceAt: showsBase ? null : instantAt(run, 'created_at'),
      parentVersions: [],
      emittedAt: emittedOf(run, action, {
        requested: 'created_at',
        in_progress: 'updated_at',
        completed: 'updated_at',
      }),
    };
  },
};

export const workflowJob: EventRule = {
  aspectWord: 'job',
  words: { key: 'branch/{ref}/job/{name}', version: 'head SHA', order: 'unknown' },
  read: ({ payload, action }) => {
    const job = payload['workflow_job'];
    const name = textAt(job, 'name');
    const branch = textAt(job, 'head_branch');
    return {
      ...NOTHING,
      target: name === null || branch === null ? null : branchTarget(branch, name),
      inputVersion: commitAt(job, 'head_sha'),
      emittedAt: emittedOf(job, action, { in_progress: 'started_at', completed: 'completed_at' }),
    };
  },
};

export const commitStatus: EventRule = {
  aspectWord: 'status',
  words: {
    key: 'branch/{ref}/status/{context}, if the commit heads exactly one branch',
    version: 'SHA',
    order: 'unknown: the dates of a commit are whatever its author wrote',
  },
  read: ({ payload }) => {
    const context = textAt(payload, 'context');
    const branches = Array.isArray(payload['branches']) ? payload['branches'] : [];
    const [branch = null, ...others] = new Set(branches.map((it) => textAt(it, 'name')));
    const isClear = context !== null && branch !== null && others.length === 0;
    return {
      ...NOTHING,
      target: isClear ? branchTarget(branch, context) : null,
      inputVersion: commitAt(payload, 'sha'),
      emittedAt: instantAt(payload, 'updated_at'),
    };
  },
};

/** Which field tells when this action happened; null for actions that leave no time of their own (re-requests). */
function emittedOf(
  object: unknown,
  action: string | null,
  fields: Readonly<Record<string, string>>,
): Date | null {
  const field = action !== null && Object.hasOwn(fields, action) ? fields[action] : undefined;
  return field === undefined ? null : instantAt(object, field);
}
