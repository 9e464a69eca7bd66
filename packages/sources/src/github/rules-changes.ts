/** Pushes, branches, pull requests and their reviews: the input itself changed, or somebody spoke about it. */
import type { RepositoryRef } from '@headgate/domain';
import { at, commitAt, idAt, instantAt, type Payload, pullRequestOf, textAt } from './fields.js';
import {
  branchOfRef,
  branchTarget,
  type EventRule,
  NOTHING,
  parentsOf,
  pullRequestTarget,
  type Reading,
  repositoryTarget,
} from './reading.js';
import { anyOther } from './rules-talk.js';

export const push: EventRule = {
  aspectWord: 'tag',
  words: {
    key: 'branch/{ref}, for a tag tag/{name}',
    version: '`after`; for a tag `tag:` and `after`',
    order: '`before`, then the repository’s `pushed_at`',
  },
  read: ({ payload, repository }) => {
    const ref = textAt(payload, 'ref');
    const head = commitAt(payload, 'after');
    const pushedAt = instantAt(payload, 'repository', 'pushed_at');
    const order = {
      sourceAt: head === null ? null : pushedAt,
      parentVersions: parentsOf(commitAt(payload, 'before'), head),
      emittedAt: pushedAt,
    };
    const branch = branchOfRef(ref);
    if (branch !== null) return { target: branchTarget(branch, null), inputVersion: head, ...order };
    const tag = ref?.startsWith('refs/tags/') ? ref.slice('refs/tags/'.length) : '';
    if (tag === '' || repository === null) return NOTHING;
    // Not a bare SHA: a tag's commit need not be any branch's head, so it must not be compared with one.
    const inputVersion = head === null ? null : `tag:${head}`;
    return { ...order, target: repositoryTarget(repository, tag), inputVersion, parentVersions: [] };
  },
};

/** `create`, `delete` and `workflow_dispatch` name a branch and no commit; what names none is told by its event. */
const namedBranch = (event: string, branchOf: (payload: Payload) => string | null): EventRule => ({
  aspectWord: event,
  words: {
    key: `branch/{ref}; without a branch ${event}`,
    version: 'none in the payload: a read must supply it',
    order: 'unknown',
  },
  read: (context) => {
    const branch = branchOf(context.payload);
    return branch === null
      ? anyOther(event).read(context)
      : { ...NOTHING, target: branchTarget(branch, null) };
  },
});

const branchByType = (payload: Payload): string | null =>
  textAt(payload, 'ref_type') === 'branch' ? textAt(payload, 'ref') : null;

export const created = namedBranch('create', branchByType);
export const deleted = namedBranch('delete', branchByType);
export const workflowDispatch = namedBranch('workflow_dispatch', (payload) => {
  const ref = textAt(payload, 'ref');
  return branchOfRef(ref) ?? (ref?.startsWith('refs/') ? null : ref);
});

export const mergeGroup: EventRule = {
  aspectWord: null,
  words: { key: 'branch/{ref}', version: 'head SHA', order: 'unknown' },
  read: ({ payload }) => {
    const branch = branchOfRef(textAt(payload, 'merge_group', 'head_ref'));
    return {
      ...NOTHING,
      target: branch === null ? null : branchTarget(branch, null),
      inputVersion: commitAt(payload, 'merge_group', 'head_sha'),
    };
  },
};

/** The pull request as a target, at the head that its record shows. */
function readPullRequest(value: unknown, repository: RepositoryRef | null, aspect: string | null): Reading {
  const pull = pullRequestOf(value, repository);
  if (pull === null) return NOTHING;
  return {
    ...NOTHING,
    target: pullRequestTarget(pull, aspect),
    inputVersion: commitAt(value, 'head', 'sha'),
  };
}

export const pullRequest: EventRule = {
  aspectWord: null,
  words: {
    key: 'pr/{n}',
    version: 'head SHA',
    order:
      'opened: `created_at`; synchronize: `before`, then `updated_at`; else unknown, since the record’s head can lag the branch for hours while `updated_at` moves on',
  },
  read: ({ payload, action, repository }) => {
    const pull = payload['pull_request'];
    const reading = readPullRequest(pull, repository, null);
    const emittedAt = instantAt(pull, 'updated_at');
    if (action === 'opened') return { ...reading, emittedAt, sourceAt: instantAt(pull, 'created_at') };
    if (action !== 'synchronize') return { ...reading, emittedAt };
    const parentVersions = parentsOf(commitAt(payload, 'before'), reading.inputVersion);
    return { ...reading, emittedAt, sourceAt: emittedAt, parentVersions };
  },
};

/** All that belongs to one review is one piece of work, whichever of its events comes first. */
const reviewWork = (
  aspectPath: readonly string[],
  emittedPath: readonly string[],
  words: string,
): EventRule => ({
  aspectWord: 'review',
  words: { key: words, version: 'head SHA', order: 'unknown' },
  read: ({ payload, repository }) => {
    const aspect = idAt(payload, ...aspectPath);
    if (aspect === null) return NOTHING;
    const reading = readPullRequest(at(payload, 'pull_request'), repository, aspect);
    return { ...reading, emittedAt: instantAt(payload, ...emittedPath) };
  },
});

export const review = reviewWork(['review', 'id'], ['review', 'submitted_at'], 'pr/{n}/review/{review id}');
export const reviewComment = reviewWork(
  ['comment', 'pull_request_review_id'],
  ['comment', 'updated_at'],
  'pr/{n}/review/{review id}',
);

export const reviewThread: EventRule = {
  aspectWord: 'review',
  words: { key: 'pr/{n}/review/{review id of the first comment}', version: 'head SHA', order: 'unknown' },
  read: ({ payload, repository }) => {
    const comments = at(payload, 'thread', 'comments');
    const aspect = Array.isArray(comments) ? idAt(comments[0], 'pull_request_review_id') : null;
    if (aspect === null) return NOTHING;
    return readPullRequest(payload['pull_request'], repository, aspect);
  },
};
